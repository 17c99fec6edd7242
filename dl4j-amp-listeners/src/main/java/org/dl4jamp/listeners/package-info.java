/**
 * Listeners: {@link org.dl4jamp.listeners.AmpListener} attaches mixed precision to a network in training. The others
 * report {@linkplain org.dl4jamp.listeners.StepFigures figures} of training, one way each, with or without mixed
 * precision.
 */
package org.dl4jamp.listeners;
