package org.dl4jamp.inspect.compare.data;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.RuntimeJsonMappingException;
import com.fasterxml.jackson.dataformat.csv.CsvMapper;
import com.fasterxml.jackson.dataformat.csv.CsvParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.precision.AmpException;

/** Numbers in a file of comma-separated values. A first line without any number is a header. */
final class CsvFile {
    /**
     * A line.
     *
     * @param number its number in the file, from 1 on
     */
    record Row(int number, List<Float> values) {}

    private CsvFile() {}

    /**
     * Reads the first rows.
     *
     * @param most how many, at most
     * @throws AmpException if the file can't be read, or has no rows, or something that isn't a finite FP32 number
     */
    static List<Row> read(Path file, long most) {
        if (Files.isDirectory(file)) {
            throw new AmpException(file + ": a folder; give a file of comma-separated values");
        }
        List<Row> rows = new ArrayList<>();
        try (MappingIterator<List<String>> lines = new CsvMapper()
                .readerForListOf(String.class)
                .with(CsvParser.Feature.WRAP_AS_ARRAY)
                .with(CsvParser.Feature.SKIP_EMPTY_LINES)
                .with(CsvParser.Feature.TRIM_SPACES)
                .readValues(Files.newBufferedReader(file))) {
            boolean first = true;
            while (rows.size() < most && lines.hasNextValue()) {
                int number = lines.getCurrentLocation().getLineNr();
                List<String> line = lines.nextValue();
                if (!first || line.stream().anyMatch(CsvFile::isNumber)) {
                    rows.add(new Row(number, values(file, number, line)));
                }
                first = false;
            }
        } catch (NoSuchFileException e) {
            throw new AmpException(file + ": no such file; give a file of comma-separated values", e);
        } catch (JsonProcessingException | RuntimeJsonMappingException e) {
            throw new AmpException(file + ": isn't comma-separated values (" + firstLine(e) + ")", e);
        } catch (IOException e) {
            throw new AmpException(file + ": can't be read (" + firstLine(e) + ")", e);
        }
        if (rows.isEmpty()) {
            throw new AmpException(file + ": has no rows of numbers; give features and then labels in each line");
        }
        return rows;
    }

    private static String firstLine(Exception e) {
        return AmpException.quote(e.toString().lines().findFirst().orElse(""));
    }

    private static boolean isNumber(String cell) {
        try {
            return Float.isFinite(Float.parseFloat(cell));
        } catch (NumberFormatException e) {
            return false;
        }
    }

    private static List<Float> values(Path file, int number, List<String> line) {
        List<Float> values = new ArrayList<>();
        for (int i = 0; i < line.size(); i++) {
            String cell = line.get(i);
            if (!isNumber(cell)) {
                throw new AmpException(file + ": line " + number + ", column " + (i + 1) + ": \""
                        + AmpException.quote(cell) + "\" isn't a finite FP32 number; every line after a header has"
                        + " numbers only");
            }
            values.add(Float.parseFloat(cell));
        }
        return values;
    }
}
