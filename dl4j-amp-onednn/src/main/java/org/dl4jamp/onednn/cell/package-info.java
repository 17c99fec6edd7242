/**
 * The arithmetic of recurrent layers, for one shape of their input. Sequences in memory time step by time step, masks,
 * the state before them and FP32 parameters come in; outputs, gradients and the state after them go out. Begin reading
 * with {@link org.dl4jamp.onednn.cell.RecurrentCell}, then one of its subclasses.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.cell;
