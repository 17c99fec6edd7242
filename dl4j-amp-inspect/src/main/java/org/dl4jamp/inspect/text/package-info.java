/** Numbers and paragraphs as people read them. */
package org.dl4jamp.inspect.text;
