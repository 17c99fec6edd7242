/**
 * Which layer runs in which precision, and why.
 *
 * <p>{@link org.dl4jamp.policy.NetworkGraph} describes a network from its configuration, {@link org.dl4jamp.policy.LayerKinds} knows what half
 * precision means to each class of layer and vertex, and {@link org.dl4jamp.policy.PrecisionPlanner} turns both, the user's rules and the engine's
 * abilities into a {@link org.dl4jamp.policy.PrecisionPlan}. Nothing here touches an array or a built network.
 */
package org.dl4jamp.policy;
