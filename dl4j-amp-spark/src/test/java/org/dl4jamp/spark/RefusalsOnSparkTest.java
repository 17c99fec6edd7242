package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.api.java.JavaSparkContext;
import org.dl4jamp.onednn.RareLayers;
import org.dl4jamp.onednn.RefusingEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;

/** Tasks on Spark in which oneDNN refuses every third kernel, so that DL4J's layers compute in the middle of a step. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RefusalsOnSparkTest {
    @Test
    void aTasksStepsAreThoseOfStock(@TempDir Path folder) throws IOException {
        AtomicInteger refused = RefusingEngine.refuseEveryThird();
        // An executor finds engines by the class loader of the thread that starts it.
        RefusingEngine.whileFound(folder, () -> {
            try (JavaSparkContext context = Cluster.start()) {
                for (RareLayers rare : RareLayers.values()) {
                    int before = refused.get();
                    RareLayersOnSparkTest.assertStepsAreThoseOfStock(context, rare, RefusingEngine.NAME);
                    assertTrue(refused.get() > before, rare::toString);
                }
            }
        });
    }
}
