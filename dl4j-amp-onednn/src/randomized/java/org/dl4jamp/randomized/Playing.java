package org.dl4jamp.randomized;

/** Plays scenarios, in stock DL4J and in mixed precision. */
interface Playing {
    /** Makes the calls of a scenario. */
    Playing CALLS = new Playing() {
        @Override
        public Observations stock(Scenario scenario, NetworkDescription description, Net net, int neighbour) {
            try (StockPlayer player = new StockPlayer(scenario, description, net, neighbour)) {
                return player.play();
            }
        }

        @Override
        public Observations mixed(Scenario scenario, NetworkDescription description, String engine) {
            try (AmpPlayer player = new AmpPlayer(scenario, description, engine)) {
                return player.play();
            }
        }
    };

    /** Returns whether scenarios of this kind can be compared. */
    default boolean suits(Scenario scenario, NetworkDescription description) {
        return true;
    }

    /**
     * Plays stock DL4J.
     *
     * @param neighbour 0, or the number of a neighbour, whose features differ by a rounding error
     */
    Observations stock(Scenario scenario, NetworkDescription description, Net net, int neighbour);

    /** Plays mixed precision in FP32 on an engine. */
    Observations mixed(Scenario scenario, NetworkDescription description, String engine);
}
