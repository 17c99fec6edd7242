package org.dl4jamp.randomized;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import org.dl4jamp.onednn.RefusingEngine;

/**
 * Random networks and calls in FP32 against stock DL4J, where oneDNN refuses some of the kernels that it's asked for:
 * DL4J's own layers compute in their place, in the middle of whatever is going on.
 */
class RandomizedRefusalsTest {
    private static final int ONE_IN = 12;

    private static final Playing REFUSING = new Playing() {
        /** DL4J's gradients behind p-norms of zeros are NaN, where those of this engine are numbers. */
        @Override
        public boolean suits(Scenario scenario, NetworkDescription description) {
            return !description.names("PNORM", "CapsuleStrength");
        }

        @Override
        public Observations stock(Scenario scenario, NetworkDescription description, Net net, int neighbour) {
            return CALLS.stock(scenario, description, net, neighbour);
        }

        @Override
        public Observations mixed(Scenario scenario, NetworkDescription description, String engine) {
            RefusingEngine.refuse(asked -> new SplittableRandom(31 * scenario.seed() + asked).nextInt(ONE_IN) == 0);
            return CALLS.mixed(scenario, description, engine);
        }
    };

    @Example
    void whateverOneDnnRefusesTheNetworkDoesWhatStockDl4jDoes() throws IOException {
        Path folder = Files.createTempDirectory("refusing");
        RefusingEngine.whileFound(
                folder, () -> new RandomizedRun(REFUSING, List.of(RefusingEngine.NAME), 100, 30).assertNoDifference());
    }
}
