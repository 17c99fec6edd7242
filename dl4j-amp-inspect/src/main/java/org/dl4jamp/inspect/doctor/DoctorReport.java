package org.dl4jamp.inspect.doctor;

import org.dl4jamp.inspect.machine.MachineReport;
import org.dl4jamp.inspect.speed.SpeedReport;

/**
 * A machine, and how fast networks train on it. Plain values: Jackson writes them as they are.
 *
 * @param machine what the machine offers
 * @param speed what was measured; null if nothing was
 */
public record DoctorReport(MachineReport machine, SpeedReport speed) {}
