/** Reads saved models from files. */
package org.dl4jamp.inspect.model;
