/**
 * The plan of a network with its cost: values, and their table and drawing. Begin with
 * {@link org.dl4jamp.inspect.plan.NetworkPlan}.
 */
package org.dl4jamp.inspect.plan;
