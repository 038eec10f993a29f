//! Names of the values of enums, in configurations, logs, records and metrics.

/// Names the values of an enum: the constants `ALL` and `NAMES`, and the methods `name` and `from_name`.
macro_rules! named_choices {
    ($choice:ident { $($variant:ident = $name:literal),+ }) => {
        impl $choice {
            /// All values, in the order of their names.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The names of the values.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name of the value.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// Returns the value of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use named_choices;
