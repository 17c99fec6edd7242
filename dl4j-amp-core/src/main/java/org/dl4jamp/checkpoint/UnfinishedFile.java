package org.dl4jamp.checkpoint;

import java.io.Closeable;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that is being written beside the one that it will replace, named {@code .FILE.KERNEL.NUMBER.unfinished}. It's
 * gone when it's closed; a process that is killed leaves it, and the next one that writes the same file removes it.
 *
 * <p>Whether its process is gone is told by a lock, which the operating system takes back from a process that ends.
 * Process ids don't tell: in containers all processes may have the same. Several hosts may share the folder, and some
 * file systems keep locks to the host, so the name says which kernel runs the process: what belongs to another one is
 * removed only if nobody has written to it for a day. Where locks don't work nothing is removed.
 */
final class UnfinishedFile implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(UnfinishedFile.class);
    private static final String SUFFIX = ".unfinished";
    private static final Duration LONG_AGO = Duration.ofDays(1);
    /** File names have at most 255 bytes, a character up to three of them, and kernel and number follow. */
    private static final int LONGEST_PREFIX = 40;
    /** In place of the rest of a longer name, which others may begin with, too. */
    private static final String REST = "~%08x";
    /** What follows the prefix: names of other files may begin like this one's. */
    private static final Pattern KERNEL_AND_NUMBER =
            Pattern.compile("\\w{8}\\.[0-9a-f]{4}-[0-9a-f]{12}" + Pattern.quote(SUFFIX));

    /** Tells the systems apart that are running; otherwise, where the system has no such number, processes. */
    static final String KERNEL = kernel();

    /** A second look at a file of one's own process would release its lock: POSIX does that when any of its descriptors is closed. */
    private static final Set<Path> OF_THIS_PROCESS = ConcurrentHashMap.newKeySet();

    private final Path replaced;
    private final Path path;
    private final FileOutputStream stream;

    private UnfinishedFile(Path replaced, Path path) throws IOException {
        this.replaced = replaced;
        this.path = path;
        OF_THIS_PROCESS.add(path);
        try {
            Files.createFile(path, attributes(replaced));
            this.stream = new FileOutputStream(path.toFile());
        } catch (IOException | RuntimeException e) {
            OF_THIS_PROCESS.remove(path);
            throw e;
        }
    }

    /**
     * Makes an empty one.
     *
     * @param replaced what it will replace: a file in a folder that is there, as {@link Path#toRealPath} names both
     */
    static UnfinishedFile beside(Path replaced) throws IOException {
        while (true) {
            String number = UUID.randomUUID().toString().substring(19);
            Path path = replaced.resolveSibling(prefix(replaced) + KERNEL + "." + number + SUFFIX);
            UnfinishedFile file = new UnfinishedFile(replaced, path);
            // Before it was locked, another process may have taken it for abandoned.
            if (file.isSafeFromRemoval()) {
                return file;
            }
            file.close();
        }
    }

    @SuppressWarnings("resource") // The lock is held until the stream is closed.
    private boolean isSafeFromRemoval() {
        try {
            return stream.getChannel().tryLock() != null && Files.exists(path);
        } catch (IOException noLocksHere) {
            LOG.debug(
                    "{} can't be locked ({}): nobody will remove it should this process be killed", path, noLocksHere);
            return true;
        }
    }

    /** Where its content goes. A stream and no channel, because a channel is closed when its thread is interrupted. */
    OutputStream stream() {
        return stream;
    }

    /** Flushes it to the device and puts it in the place of the file that it replaces. */
    void finish() throws IOException {
        stream.getFD().sync();
        boolean posix = hasPermissions(path);
        if (posix && Files.exists(replaced)) {
            Files.setPosixFilePermissions(path, Files.getPosixFilePermissions(replaced));
        }
        if (!posix) {
            // Windows renames no open file.
            stream.close();
        }
        Files.move(path, replaced, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    @Override
    public void close() throws IOException {
        try (stream) {
            Files.deleteIfExists(path);
        } finally {
            OF_THIS_PROCESS.remove(path);
        }
    }

    /** Removes what killed processes have left of a file. */
    static void removeAbandoned(Path replaced) {
        String prefix = prefix(replaced);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(replaced.getParent(), file -> {
            String name = file.getFileName().toString();
            return name.startsWith(prefix)
                    && KERNEL_AND_NUMBER
                            .matcher(name.substring(prefix.length()))
                            .matches();
        })) {
            for (Path file : files) {
                removeIfAbandoned(file, prefix + KERNEL + ".");
            }
        } catch (IOException e) {
            LOG.warn("Can't remove what unfinished saves have left of {}: {}", replaced, e.toString());
        }
    }

    private static void removeIfAbandoned(Path file, String prefixHere) throws IOException {
        boolean candidate = Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                && !OF_THIS_PROCESS.contains(file)
                && (file.getFileName().toString().startsWith(prefixHere) || isOld(file));
        if (!candidate) {
            return;
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            if (lock != null) {
                Files.deleteIfExists(file);
            }
        } catch (OverlappingFileLockException e) {
            LOG.debug("{} is being written by a dl4j-amp of another class loader", file);
        }
    }

    private static boolean isOld(Path file) throws IOException {
        return Files.getLastModifiedTime(file)
                .toInstant()
                .isBefore(Instant.now().minus(LONG_AGO));
    }

    private static String prefix(Path replaced) {
        String name = replaced.getFileName().toString();
        return "." + (name.length() > LONGEST_PREFIX ? shortened(name) : name) + ".";
    }

    private static String shortened(String name) {
        String rest = REST.formatted(name.hashCode());
        int kept = LONGEST_PREFIX - rest.length();
        // Half of a pair isn't a character that a file's name may have.
        return name.substring(0, Character.isHighSurrogate(name.charAt(kept - 1)) ? kept - 1 : kept) + rest;
    }

    /** Nobody may read it meanwhile who may not read the file that it replaces. */
    private static FileAttribute<?>[] attributes(Path replaced) throws IOException {
        if (!Files.exists(replaced) || !hasPermissions(replaced)) {
            return new FileAttribute<?>[0];
        }
        return new FileAttribute<?>[] {
            PosixFilePermissions.asFileAttribute(
                    Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE))
        };
    }

    private static boolean hasPermissions(Path file) throws IOException {
        return Files.getFileStore(file).supportsFileAttributeView(PosixFileAttributeView.class);
    }

    private static String kernel() {
        Path bootId = Path.of("/proc/sys/kernel/random/boot_id");
        try {
            return Files.readString(bootId).substring(0, 8);
        } catch (IOException notLinux) {
            LOG.debug("No id of the running system: {}", notLinux.toString());
            return UUID.randomUUID().toString().substring(0, 8);
        }
    }
}
