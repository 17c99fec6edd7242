/** A class that DL4J's oneDNN helpers load from this package of ND4J's, from which ND4J has moved it. */
package org.nd4j.nativeblas;
