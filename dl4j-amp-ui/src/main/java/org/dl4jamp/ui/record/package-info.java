/** The records of a training that storages of DL4J's UI hold: plain data, without Java serialization. */
package org.dl4jamp.ui.record;
