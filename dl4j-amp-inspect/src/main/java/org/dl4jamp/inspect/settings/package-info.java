/** Environment variables and system properties that change what training takes, and what their values do here. */
package org.dl4jamp.inspect.settings;
