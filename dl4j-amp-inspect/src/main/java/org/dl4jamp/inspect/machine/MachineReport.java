package org.dl4jamp.inspect.machine;

/**
 * A machine, and the choices of dl4j-amp there. Plain values: Jackson writes them as they are.
 *
 * <pre>{@code
 * MachineReport here = MachineReport.ofThisProcess();
 * System.out.println(here.nd4j().automatic());
 * }</pre>
 *
 * @param dl4jAmp version of dl4j-amp
 * @param system what is found without ND4J
 * @param nd4j what ND4J and the engines say
 */
public record MachineReport(String dl4jAmp, SystemReport system, Nd4jReport nd4j) {
    /** Looks at this process's machine, and loads ND4J if it isn't loaded. Takes a second or two the first time. */
    public static MachineReport ofThisProcess() {
        SystemReport system = SystemReport.ofThisProcess();
        return new MachineReport(Versions.dl4jAmp(), system, Nd4jReport.load(system.gpus()));
    }
}
