package org.dl4jamp.randomized;

import java.util.List;
import java.util.NoSuchElementException;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.dataset.api.MultiDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;

/** Batches as they are: DL4J's iterators over lists take them apart and together again. */
final class BatchIterator implements MultiDataSetIterator {
    private static final long serialVersionUID = 1L;

    private final transient List<Batch> batches;
    private int position;

    BatchIterator(List<Batch> batches) {
        this.batches = batches;
    }

    @Override
    public MultiDataSet next(int number) {
        return next();
    }

    @Override
    public void setPreProcessor(MultiDataSetPreProcessor preProcessor) {
        throw new UnsupportedOperationException("none is needed");
    }

    @Override
    public MultiDataSetPreProcessor getPreProcessor() {
        return null;
    }

    @Override
    public boolean resetSupported() {
        return true;
    }

    @Override
    public boolean asyncSupported() {
        return false;
    }

    @Override
    public void reset() {
        position = 0;
    }

    @Override
    public boolean hasNext() {
        return position < batches.size();
    }

    @Override
    public MultiDataSet next() {
        if (!hasNext()) {
            throw new NoSuchElementException("batch " + position + " of " + batches.size());
        }
        return batches.get(position++).multiDataSet();
    }
}
