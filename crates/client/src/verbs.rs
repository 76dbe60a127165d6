//! One typed method per verb of the door, made from the rows of `proto::verbs!`.

use proto::request::Empty;
use proto::{Reply, VerbSpec, verb};

use crate::{ClientError, Connection};

impl Connection {
    /// Asks for a verb and waits for its reply.
    pub fn request<V: VerbSpec>(&mut self, arguments: V::Arguments) -> Result<V::Reply, ClientError> {
        let reply = self.call(V::request(arguments))?;
        V::result(reply).map_err(|other| unexpected(V::WORD, &other))
    }
}

pub(crate) fn unexpected(word: &str, reply: &Reply) -> ClientError {
    ClientError::nonsense(format!("{word} was answered with {reply:?}"))
}

/// One method: its documentation, its verb, its name, and its arguments if there are any.
macro_rules! method {
    ($doc:expr, $verb:ident, $word:ident as $method:ident, $($arguments:tt)*) => {
        method! { $doc, $verb, $method, $($arguments)* }
    };
    ($doc:expr, $verb:ident, $method:ident,) => {
        #[doc = $doc]
        pub fn $method(&mut self) -> Result<<verb::$verb as VerbSpec>::Reply, ClientError> {
            self.request::<verb::$verb>(Empty {})
        }
    };
    ($doc:expr, $verb:ident, $method:ident, $($arguments:tt)+) => {
        #[doc = $doc]
        pub fn $method(
            &mut self,
            arguments: impl Into<<verb::$verb as VerbSpec>::Arguments>,
        ) -> Result<<verb::$verb as VerbSpec>::Reply, ClientError> {
            self.request::<verb::$verb>(arguments.into())
        }
    };
}

macro_rules! define_methods {
    (engine { $($engine:tt)* } door { $($door:tt)* }) => {
        define_methods! { $($engine)* $($door)* }
    };
    ($(
        $(#[doc = $doc:literal])*
        $verb:ident $(($($arguments:tt)+))? $word:ident $(as $method:ident)?
            -> $reply:ident $(or $other:ident)?: $result:ty $(, of $field:ident)? $(, within $time:ident)?
            $(, repeat $repeat:ident)?;
    )*) => {
        impl Connection {
            $(method! { concat!($($doc),*), $verb, $word $(as $method)?, $($($arguments)+)? })*
        }
    };
}
proto::verbs!(define_methods);
