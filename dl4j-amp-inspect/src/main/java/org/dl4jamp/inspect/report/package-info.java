/** The report on a training, as one HTML page: {@link org.dl4jamp.inspect.report.AmpReport}. */
package org.dl4jamp.inspect.report;
