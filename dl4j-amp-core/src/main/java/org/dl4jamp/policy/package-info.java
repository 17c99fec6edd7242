/**
 * The policy: which layer runs in which precision, and why.
 *
 * <p>{@link org.dl4jamp.policy.NetworkGraph} describes a network from its configuration, and {@code LayerKinds}
 * classifies layers and vertices. {@code PrecisionPlanner} turns both, the user's rules and the engine's abilities into
 * a {@link org.dl4jamp.policy.PrecisionPlan}. Nothing here touches an array or a built network.
 *
 * <p>{@code PrecisionPlanner} and {@code LayerTable} are internal: they're public only for other packages of this
 * project, and may change with any version.
 */
package org.dl4jamp.policy;
