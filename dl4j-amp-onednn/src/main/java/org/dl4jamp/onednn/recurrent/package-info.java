/**
 * LSTM, with or without peepholes, simple RNN and their bidirectional layers. Sequences {@code [minibatch, size,
 * time]}, masks, the state between sequences and FP32 parameters come in; outputs, in memory time step by time step,
 * gradients and the next state go out. Begin reading with {@link org.dl4jamp.onednn.recurrent.RecurrentTwin}, then
 * {@link org.dl4jamp.onednn.recurrent.RecurrentPasses}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.recurrent;
