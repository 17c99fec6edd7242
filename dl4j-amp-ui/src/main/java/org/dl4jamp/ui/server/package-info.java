/** The server's side of the tab: DL4J's server on one address, its routes, and the figures as JSON. */
package org.dl4jamp.ui.server;
