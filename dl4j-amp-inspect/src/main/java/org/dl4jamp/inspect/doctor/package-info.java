/** The report of {@code amp doctor}, as values and as text. */
package org.dl4jamp.inspect.doctor;
