package org.dl4jamp.checkpoint;

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Writes a file atomically: at every moment, whatever fails, either the whole old one or the whole new one is there.
 * The new one is an {@link UnfinishedFile} beside it, flushed to the device, then renamed.
 */
public final class AtomicFile {
    /** As many as Linux follows. */
    private static final int MOST_LINKS = 40;

    private AtomicFile() {}

    /** Writes the content of a file, and leaves the stream open. */
    interface Content {
        void writeTo(OutputStream stream) throws IOException;
    }

    /**
     * Replaces a file, or makes it. Links to files, and to files that aren't there yet, stay links. A pipe or a device,
     * which is no file, is written straight.
     *
     * @throws IOException if anything fails, or if the target is a folder; an old file is then as it was, and nothing
     *     is left beside it
     */
    static void write(Path target, Content content) throws IOException {
        if (Files.isDirectory(target)) {
            throw new FileSystemException(target.toString(), null, "is a folder; give the name of a file in it");
        }
        if (Files.exists(target) && !Files.isRegularFile(target)) {
            // A rename would put a file in the place of the pipe or device.
            try (OutputStream stream = new BufferedOutputStream(new FileOutputStream(target.toFile()))) {
                content.writeTo(stream);
            }
            return;
        }
        Path file = behindLinks(target);
        UnfinishedFile.removeAbandoned(file);
        try (UnfinishedFile unfinished = UnfinishedFile.beside(file)) {
            OutputStream stream = new BufferedOutputStream(unfinished.stream());
            content.writeTo(stream);
            stream.flush();
            unfinished.finish();
        }
        flushFolder(file.getParent());
    }

    /** Returns the file that a link points to: that one is replaced, not the link. */
    private static Path behindLinks(Path target) throws IOException {
        if (Files.exists(target)) {
            return target.toRealPath();
        }
        Path file = target.toAbsolutePath();
        for (int links = 0; Files.isSymbolicLink(file); links++) {
            if (links == MOST_LINKS) {
                throw new FileSystemLoopException(target.toString());
            }
            file = file.resolveSibling(Files.readSymbolicLink(file));
        }
        Path folder = file.getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new NoSuchFileException(file.toString(), null, "there is no folder " + folder);
        }
        return folder.toRealPath().resolve(file.getFileName());
    }

    private static void flushFolder(Path folder) {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        } catch (IOException e) {
            // Windows can't open folders, and the new file is whole either way.
        }
    }
}
