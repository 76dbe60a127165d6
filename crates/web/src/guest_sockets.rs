//! WebSockets that nobody has signed in on yet. The dialect opens them without a token, which comes in the first frame. There are
//! few places for them, and the oldest one is closed for a new one, so that silent sockets keep no client out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The most sockets without a caller: each has a descriptor and at most one message.
const MOST: usize = 32;

/// The places, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuestSockets(Arc<Mutex<VecDeque<Arc<Notify>>>>);

/// The place of one socket, given back when dropped.
#[derive(Debug)]
pub(crate) struct GuestPlace {
    all: GuestSockets,
    lost: Arc<Notify>,
}

impl GuestSockets {
    /// Returns a place; the oldest socket loses its own if there are too many.
    pub(crate) fn enter(&self) -> GuestPlace {
        let lost = Arc::new(Notify::new());
        let mut places = self.places();
        if places.len() >= MOST
            && let Some(oldest) = places.pop_front()
        {
            oldest.notify_one();
        }
        places.push_back(Arc::clone(&lost));
        GuestPlace { all: self.clone(), lost }
    }

    fn places(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GuestPlace {
    /// Returns once the place has gone to another socket.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }
}

impl Drop for GuestPlace {
    fn drop(&mut self) {
        self.all.places().retain(|place| !Arc::ptr_eq(place, &self.lost));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn w14_the_oldest_guest_leaves_for_a_new_one_and_a_place_is_given_back() {
        let guests = GuestSockets::default();
        let mut places: Vec<_> = (0..MOST).map(|_| guests.enter()).collect();
        assert!(places.iter().all(|place| place.lost().now_or_never().is_none()));
        let newest = guests.enter();
        assert!(places[0].lost().now_or_never().is_some(), "the oldest");
        assert!(places[1].lost().now_or_never().is_none() && newest.lost().now_or_never().is_none());
        assert_eq!(guests.places().len(), MOST);
        places.truncate(2);
        assert_eq!(guests.places().len(), 2, "the second and the newest");
    }
}
