/** A class that DL4J's oneDNN helpers look for in this package of ND4J's, where it no longer is. */
package org.nd4j.nativeblas;
