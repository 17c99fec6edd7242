package org.dl4jamp.onednn;

import net.jqwik.api.lifecycle.AroundPropertyHook;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.PropertyAttributes;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyExecutor;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

/**
 * Draws the same arguments in each run of a property, so that a build fails by what changed and by nothing else. With
 * the system property {@code amp.properties.times}, draws new arguments, and that many times as many.
 */
public final class PropertyDraws implements AroundPropertyHook {
    private static final Integer TIMES = Integer.getInteger("amp.properties.times");

    @Override
    public PropagationMode propagateTo() {
        return PropagationMode.ALL_DESCENDANTS;
    }

    @Override
    public PropertyExecutionResult aroundProperty(PropertyLifecycleContext context, PropertyExecutor property) {
        PropertyAttributes attributes = context.attributes();
        if (TIMES != null) {
            attributes.setTries(attributes.tries().orElse(25) * TIMES);
        } else if (attributes.seed().isEmpty()) {
            String name = context.containerClass().getName() + "."
                    + context.targetMethod().getName();
            attributes.setSeed(Long.toString(name.hashCode()));
        }
        return property.execute();
    }
}
