//! The guards of the other primitives: a [`Guard`](super::Guard) under a name of its own.

/// Gives a newtype around [`Guard`](super::Guard) everything that takes the guard by value, which `Deref` cannot reach.
/// `$thing` is what it releases, for the documentation.
macro_rules! guard_newtype {
    ($guard:ident, $thing:literal) => {
        impl $guard {
            pub(super) fn new(guard: $crate::Guard) -> Self {
                Self(guard)
            }

            #[doc = concat!("Releases ", $thing, ", and fails if there was a loss on the way; see [`Guard::finish`](crate::Guard::finish).")]
            ///
            /// # Errors
            /// As [`Guard::finish`](crate::Guard::finish).
            pub fn finish(self) -> $crate::Op<()> {
                self.0.finish()
            }

            #[doc = concat!("Releases ", $thing, "; see [`Guard::release`](crate::Guard::release).")]
            ///
            /// # Errors
            /// As [`Guard::release`](crate::Guard::release).
            pub fn release(self) -> $crate::Op<$crate::Released> {
                self.0.release()
            }

            #[doc = concat!("Releases ", $thing, ", but only after `rest`; see [`Guard::keep_for`](crate::Guard::keep_for).")]
            ///
            /// # Errors
            /// As [`Guard::keep_for`](crate::Guard::keep_for).
            pub fn keep_for(self, rest: std::time::Duration) -> $crate::Op<$crate::Released> {
                self.0.keep_for(rest)
            }
        }

        impl std::ops::Deref for $guard {
            type Target = $crate::Guard;
            fn deref(&self) -> &$crate::Guard {
                &self.0
            }
        }

        impl From<$guard> for $crate::Guard {
            fn from(guard: $guard) -> Self {
                guard.0
            }
        }
    };
}

pub(crate) use guard_newtype;
