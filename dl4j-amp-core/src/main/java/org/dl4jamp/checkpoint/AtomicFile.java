package org.dl4jamp.checkpoint;

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes a file atomically: at every moment, whatever fails, either the whole old one or the whole new one is there.
 * The new one is written beside it as {@code .FILE.NUMBER.unfinished}, flushed to the device, then renamed. A killed
 * save leaves that file behind, and the next save of the same file removes it. If two processes save the same file at
 * once, one of these saves may fail with an exception.
 */
public final class AtomicFile {
    private static final Logger LOG = LoggerFactory.getLogger(AtomicFile.class);
    private static final String SUFFIX = ".unfinished";
    /** File names have at most 255 bytes, a character has up to three of them, and number and suffix follow. */
    private static final int LONGEST_NAME = 70;

    /** The unfinished files of saves in progress in this process. */
    private static final Set<Path> IN_PROGRESS = ConcurrentHashMap.newKeySet();

    private AtomicFile() {}

    /** Writes the content of a file, and leaves the stream open. */
    public interface Content {
        void writeTo(OutputStream stream) throws IOException;
    }

    /**
     * Replaces or makes a file. Links to files, also to those that aren't there yet, stay links. Pipes and devices are
     * written straight.
     *
     * @throws IOException if anything fails; an old file is then as it was, and nothing is left beside it
     */
    public static void write(Path target, Content content) throws IOException {
        if (Files.isDirectory(target)) {
            throw new FileSystemException(target.toString(), null, "is a folder; give the name of a file in it");
        }
        if (Files.exists(target) && !Files.isRegularFile(target)) {
            // A rename would replace the pipe or device.
            writeStraight(target, content);
            return;
        }
        Path file = behindLinks(target);
        Path unfinished = beside(file);
        try {
            writeStraight(unfinished, content);
            if (Files.exists(file) && hasPermissions(file)) {
                Files.setPosixFilePermissions(unfinished, Files.getPosixFilePermissions(file));
            }
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(unfinished);
            IN_PROGRESS.remove(unfinished);
        }
        flushFolder(file.getParent());
    }

    /** Writes to the device; through no channel of its own, because an interrupt of its thread closes a channel. */
    private static void writeStraight(Path file, Content content) throws IOException {
        try (FileOutputStream stream = new FileOutputStream(file.toFile())) {
            OutputStream buffered = new BufferedOutputStream(stream);
            content.writeTo(buffered);
            buffered.flush();
            if (Files.isRegularFile(file)) {
                stream.getFD().sync();
            }
        }
    }

    /** Returns the file that a link points to, there or not: that one is replaced, not the link. */
    private static Path behindLinks(Path target) throws IOException {
        try {
            return target.toRealPath();
        } catch (NoSuchFileException e) {
            Path file = target.toAbsolutePath();
            while (Files.isSymbolicLink(file)) {
                file = file.resolveSibling(Files.readSymbolicLink(file));
            }
            Path folder = file.getParent();
            if (!Files.isDirectory(folder)) {
                throw new NoSuchFileException(file.toString(), null, "there is no folder " + folder);
            }
            return folder.toRealPath().resolve(file.getFileName());
        }
    }

    /** Makes the unfinished file of a save, and removes those of killed saves. */
    private static synchronized Path beside(Path file) throws IOException {
        String name = file.getFileName().toString();
        String prefix = "." + (name.length() > LONGEST_NAME ? Integer.toHexString(name.hashCode()) : name) + ".";
        removeAbandoned(file.getParent(), Pattern.compile(Pattern.quote(prefix) + "\\d+" + Pattern.quote(SUFFIX)));
        Path unfinished = Files.createTempFile(file.getParent(), prefix, SUFFIX, attributes(file));
        IN_PROGRESS.add(unfinished);
        return unfinished;
    }

    private static void removeAbandoned(Path folder, Pattern names) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(
                folder, file -> names.matcher(file.getFileName().toString()).matches())) {
            for (Path file : files) {
                if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && !IN_PROGRESS.contains(file)) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException e) {
            LOG.warn("Can't remove what killed saves left behind in {}: {}", folder, e.toString());
        }
    }

    /** Keeps the new file private until it has the permissions of the one that it replaces, if there is one. */
    private static FileAttribute<?>[] attributes(Path file) throws IOException {
        if (!hasPermissions(file.getParent())) {
            return new FileAttribute<?>[0];
        }
        // Those of a file that anybody makes: the process' umask takes some away.
        String permissions = Files.exists(file) ? "rw-------" : "rw-rw-rw-";
        return new FileAttribute<?>[] {
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
        };
    }

    private static boolean hasPermissions(Path path) throws IOException {
        return Files.getFileStore(path).supportsFileAttributeView(PosixFileAttributeView.class);
    }

    private static void flushFolder(Path folder) {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        } catch (IOException e) {
            // Windows can't open folders, and the new file is whole either way.
        }
    }
}
