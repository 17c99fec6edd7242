/** Reports on machines and networks, and on mixed precision there. Its packages hold them. */
package org.dl4jamp.inspect;
