/** The listener that attaches mixed precision to a network in training, and reports on it. */
package org.dl4jamp.listeners;
