package org.dl4jamp.checkpoint;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;

/**
 * Writes a file so that at every moment, whatever fails, either the whole old one or the whole new one is there: in a
 * temporary folder beside it, flushed to the device, then renamed. A process that is killed meanwhile leaves that folder,
 * named {@code .FILE.NUMBER}, and nothing else.
 */
final class AtomicFile {
    /** File names have at most 255 bytes, and a number follows. */
    private static final int LONGEST_PREFIX = 50;

    private AtomicFile() {}

    /** Writes the content of a file. */
    interface Content {
        void writeTo(Path file) throws IOException;
    }

    /**
     * Replaces a file, or makes it.
     *
     * @throws IOException if anything fails; the old file is then as it was, and nothing is left beside it
     */
    static void write(Path target, Content content) throws IOException {
        // The file that a link points to is replaced, not the link.
        Path file = Files.exists(target) ? target.toRealPath() : target.toAbsolutePath();
        Path folder = file.getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new NoSuchFileException(file.toString(), null, "there is no folder " + folder);
        }
        String name = file.getFileName().toString();
        try (TemporaryFolder beside =
                TemporaryFolder.in(folder, "." + name.substring(0, Math.min(name.length(), LONGEST_PREFIX)) + ".")) {
            Path temporary = beside.path().resolve(file.getFileName());
            content.writeTo(temporary);
            keepPermissions(file, temporary);
            try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
                channel.force(true);
            }
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }
        flushFolder(folder);
    }

    /** A file that is replaced keeps the permissions that its owner gave it. */
    private static void keepPermissions(Path replaced, Path by) throws IOException {
        if (Files.exists(replaced)
                && Files.getFileStore(replaced).supportsFileAttributeView(PosixFileAttributeView.class)) {
            Files.setPosixFilePermissions(by, Files.getPosixFilePermissions(replaced));
        }
    }

    private static void flushFolder(Path folder) {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        } catch (IOException e) {
            // Windows can't open folders, and the new file is whole either way.
        }
    }
}
