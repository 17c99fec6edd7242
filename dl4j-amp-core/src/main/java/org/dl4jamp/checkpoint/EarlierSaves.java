package org.dl4jamp.checkpoint;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What saves of dl4j-amp's first versions left that were killed: a folder beside the file, named {@code .FILE.NUMBER}, with a file of the same name in
 * it, and perhaps one of Java's zip file system. They held no lock, so nothing but time tells that their process is gone: a save that has written
 * nothing for a day.
 */
final class EarlierSaves {
    private static final Logger LOG = LoggerFactory.getLogger(EarlierSaves.class);
    private static final Duration LONG_AGO = Duration.ofDays(1);
    private static final int LONGEST_PREFIX = 50;
    private static final Pattern NUMBER = Pattern.compile("[0-9]+");
    private static final Pattern OF_ZIP_FILE_SYSTEM = Pattern.compile("zipfstmp[0-9]+\\.tmp");

    private EarlierSaves() {}

    /** Removes the folders that were left beside a file. */
    static void removeAbandoned(Path replaced) {
        String name = replaced.getFileName().toString();
        String prefix = "." + name.substring(0, Math.min(name.length(), LONGEST_PREFIX)) + ".";
        try (DirectoryStream<Path> folders =
                Files.newDirectoryStream(replaced.getParent(), file -> isNumbered(file, prefix))) {
            for (Path folder : folders) {
                List<Path> files = files(folder);
                if (isOfASave(files, replaced.getFileName()) && isOld(folder, files)) {
                    for (Path file : files) {
                        Files.delete(file);
                    }
                    Files.delete(folder);
                }
            }
        } catch (IOException e) {
            LOG.warn("Can't remove what earlier saves have left of {}: {}", replaced, e.toString());
        }
    }

    private static boolean isNumbered(Path file, String prefix) {
        String name = file.getFileName().toString();
        return name.startsWith(prefix)
                && NUMBER.matcher(name.substring(prefix.length())).matches()
                && Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS);
    }

    private static List<Path> files(Path folder) throws IOException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            entries.forEach(files::add);
        }
        return files;
    }

    /** Names that are cut are those of several files; what is inside has the whole one. */
    private static boolean isOfASave(List<Path> files, Path name) {
        return files.stream().anyMatch(file -> file.getFileName().equals(name))
                && files.stream()
                        .allMatch(file -> Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                                && (file.getFileName().equals(name)
                                        || OF_ZIP_FILE_SYSTEM
                                                .matcher(file.getFileName().toString())
                                                .matches()));
    }

    private static boolean isOld(Path folder, List<Path> files) throws IOException {
        Instant longAgo = Instant.now().minus(LONG_AGO);
        List<Path> all = new ArrayList<>(files);
        all.add(folder);
        for (Path one : all) {
            if (!Files.getLastModifiedTime(one).toInstant().isBefore(longAgo)) {
                return false;
            }
        }
        return true;
    }
}
