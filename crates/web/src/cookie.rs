//! The cookie of a paired browser. A cookie is never enough by itself: `request_check` says what else a request needs.

use axum::http::{HeaderMap, header};

/// How long a browser keeps it, in seconds: 30 days, anew whenever its page asks who it is.
const MAX_AGE: u32 = 30 * 24 * 60 * 60;

/// The name and the attributes of the cookie.
#[derive(Clone, Debug)]
pub(crate) struct CookieSpec {
    name: String,
    is_secure: bool,
}

impl CookieSpec {
    /// Returns the cookie of a server. Browsers share cookies between all ports of a host, so without HTTPS its name has
    /// the port: two servers on one machine do not sign each other out.
    pub(crate) fn new(is_secure: bool, port: u16) -> Self {
        let name = if is_secure { "__Host-qd".to_owned() } else { format!("qd-{port}") };
        Self { name, is_secure }
    }

    /// Returns the header that sets it.
    pub(crate) fn set(&self, secret: &str) -> String {
        format!("{}; Max-Age={MAX_AGE}", self.with(secret))
    }

    /// Returns the header that removes it.
    pub(crate) fn remove(&self) -> String {
        format!("{}; Max-Age=0", self.with(""))
    }

    fn with(&self, value: &str) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}", self.name)
    }

    /// Returns its value in a request; none when it comes twice with different values.
    pub(crate) fn find<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == self.name).map(|(_, value)| value);
        let first = own.next()?;
        own.all(|other| other == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, cookie.parse().unwrap());
        }
        headers
    }

    #[test]
    fn w4_a_cookie_is_strict_and_out_of_reach_of_scripts() {
        let plain = CookieSpec::new(false, 7373);
        assert_eq!(plain.set("s"), "qd-7373=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000");
        let secure = CookieSpec::new(true, 443).set("s");
        assert!(secure.starts_with("__Host-qd=s;") && secure.contains("; Secure"), "{secure}");
    }

    #[test]
    fn w4_the_cookie_is_found_among_others_and_two_are_none() {
        let cookie = CookieSpec::new(false, 1);
        assert_eq!(cookie.find(&headers(&["a=b; qd-1=s; c=d"])), Some("s"));
        assert_eq!(cookie.find(&headers(&["qd-2=s", "xqd-1=s"])), None);
        assert_eq!(cookie.find(&headers(&["qd-1=s; qd-1=t"])), None);
    }
}
