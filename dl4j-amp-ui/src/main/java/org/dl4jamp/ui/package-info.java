/** The tab "Mixed precision" of DL4J's training UI. */
package org.dl4jamp.ui;
