/** What a person sees of mixed precision while a network trains: the listener that attaches it and reports on it. */
package org.dl4jamp.listeners;
