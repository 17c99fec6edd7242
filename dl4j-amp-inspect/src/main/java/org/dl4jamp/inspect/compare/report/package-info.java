/** Comparisons as text, JSON and HTML. */
package org.dl4jamp.inspect.compare.report;
