/** Changes the settings of a network in training where HALF's range is too small for it. Not API. */
package org.dl4jamp.heal;
