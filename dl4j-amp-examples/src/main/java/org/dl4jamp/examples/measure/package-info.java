/** How long a training takes and how much memory it needs. */
package org.dl4jamp.examples.measure;
