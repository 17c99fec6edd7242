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
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A new file that is written beside the one that it will replace, named {@code .FILE.NUMBER.unfinished}. Closing
 * removes it. A killed save leaves it behind; the next save of the same file removes it.
 *
 * <p>A save holds a lock on its file, and the operating system frees the locks of a process that ends. So a file whose
 * lock is free was left by a killed save. Where locks don't work nothing is removed. Where hosts share a folder, but
 * not its locks, and save the same file at once, one of these saves may fail with an exception.
 */
final class UnfinishedFile implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(UnfinishedFile.class);
    private static final String SUFFIX = ".unfinished";
    /** File names have at most 255 bytes, a character has up to three of them, and a number follows. */
    private static final int LONGEST_PREFIX = 40;
    /** Replaces the end of a longer name: other names may begin with the same characters. */
    private static final String REST = "~%08x";
    /** Follows the prefix. Names of other files may begin with this one's name. */
    private static final Pattern NUMBER = Pattern.compile("[0-9a-f]{4}-[0-9a-f]{12}" + Pattern.quote(SUFFIX));

    /** Must not be opened a second time: POSIX frees a file's lock when any descriptor of the process is closed. */
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
     * Creates an empty file.
     *
     * @param replaced the file to replace, in an existing folder, as {@link Path#toRealPath} names both
     */
    static UnfinishedFile beside(Path replaced) throws IOException {
        while (true) {
            String number = UUID.randomUUID().toString().substring(19);
            Path path = replaced.resolveSibling(prefix(replaced) + number + SUFFIX);
            UnfinishedFile file = new UnfinishedFile(replaced, path);
            // Another process may have removed it before it was locked.
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
            LOG.debug("{} can't be locked ({}): it stays if this process is killed", path, noLocksHere);
            return true;
        }
    }

    /** Returns the stream for the content: no channel, because an interrupt of its thread closes a channel. */
    OutputStream stream() {
        return stream;
    }

    /** Flushes the content to the device and replaces the file. */
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

    /** Removes the files that killed saves of a file left behind. */
    static void removeAbandoned(Path replaced) {
        String prefix = prefix(replaced);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(replaced.getParent(), file -> {
            String name = file.getFileName().toString();
            return name.startsWith(prefix)
                    && NUMBER.matcher(name.substring(prefix.length())).matches();
        })) {
            for (Path file : files) {
                removeIfAbandoned(file);
            }
        } catch (IOException e) {
            LOG.warn("Can't remove what killed saves of {} left behind: {}", replaced, e.toString());
        }
    }

    private static void removeIfAbandoned(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) || OF_THIS_PROCESS.contains(file)) {
            return;
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            if (lock != null) {
                Files.deleteIfExists(file);
            }
        } catch (OverlappingFileLockException e) {
            LOG.debug("{} is written by dl4j-amp in another class loader of this process", file);
        }
    }

    private static String prefix(Path replaced) {
        String name = replaced.getFileName().toString();
        return "." + (name.length() > LONGEST_PREFIX ? shortened(name) : name) + ".";
    }

    private static String shortened(String name) {
        String rest = REST.formatted(name.hashCode());
        int kept = LONGEST_PREFIX - rest.length();
        // Half of a surrogate pair isn't a character that a file name may have.
        return name.substring(0, Character.isHighSurrogate(name.charAt(kept - 1)) ? kept - 1 : kept) + rest;
    }

    /** Keeps the new file private until it has the permissions of the file that it replaces. */
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
}
