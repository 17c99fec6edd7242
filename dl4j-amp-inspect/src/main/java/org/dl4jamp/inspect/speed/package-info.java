/**
 * A short measurement of training in each precision, against stock DL4J: small networks of dense layers, convolutions
 * and LSTM layers, and the speed of memory.
 */
package org.dl4jamp.inspect.speed;
