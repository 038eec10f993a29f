//! Notices that a file is another one now, and reads it once it is whole.
