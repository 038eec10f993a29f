//! Data that are computed from a snapshot and kept with it, such as decoded columns. They can be computed again, so they are
//! the first to go when memory is short.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A value that is computed from a snapshot.
type DerivedValue = Arc<dyn Any + Send + Sync>;

/// The place of data that are computed from a snapshot. A clone of the snapshot computes its own.
#[derive(Default)]
pub struct DerivedData {
    value: Mutex<Option<DerivedValue>>,
    byte_count: AtomicUsize,
}

impl DerivedData {
    /// Returns the value, created if there is none of this type.
    pub fn get_or_default<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = value.clone().and_then(|value| value.downcast().ok()) {
            return known;
        }
        let new = Arc::new(T::default());
        *value = Some(Arc::<T>::clone(&new));
        new
    }

    /// Returns the size of the value in bytes, as it was set last.
    pub fn byte_count(&self) -> usize {
        self.byte_count.load(Ordering::Relaxed)
    }

    /// Sets the size of the value in bytes, once it has changed.
    pub fn set_byte_count(&self, bytes: usize) {
        self.byte_count.store(bytes, Ordering::Relaxed);
    }

    /// Drops the value.
    pub fn clear(&self) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.set_byte_count(0);
    }
}

impl Clone for DerivedData {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for DerivedData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DerivedData").field("byte_count", &self.byte_count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::DerivedData;

    #[test]
    fn a_value_stays_until_it_is_cleared() {
        let derived = DerivedData::default();
        derived.get_or_default::<AtomicU8>().store(7, Ordering::Relaxed);
        derived.set_byte_count(1);
        assert_eq!(derived.get_or_default::<AtomicU8>().load(Ordering::Relaxed), 7);
        assert_eq!(derived.clone().byte_count(), 0);
        derived.clear();
        assert_eq!(
            (derived.byte_count(), derived.get_or_default::<AtomicU8>().load(Ordering::Relaxed)),
            (0, 0)
        );
    }
}
