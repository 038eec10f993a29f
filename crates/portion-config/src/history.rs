//! The versions of a configuration file that were in force, so that one can be gone back to.
