//! What Web Push needs of cryptography: messages that only one browser can read (RFC 8291), and the server's signature that push
//! services ask for (RFC 8292).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

/// The longest record; our messages are one record.
const RECORD: u32 = 4096;
/// How long a signature counts.
const SIGNATURE_SECONDS: u64 = 12 * 60 * 60;

/// Something that cannot be encrypted or signed; the libraries say no more.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CryptError(&'static str);

/// The keys with which a browser reads its messages.
#[derive(Clone, Debug)]
pub(crate) struct BrowserKeys {
    pub(crate) public: Vec<u8>,
    pub(crate) auth: Vec<u8>,
}

/// The key and the nonce of one message.
struct MessageKey {
    key: [u8; 16],
    nonce: [u8; NONCE_LEN],
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand<const N: usize>(salt: &[u8], secret: &[u8], info: &[u8]) -> Result<[u8; N], CryptError> {
    let mut output = [0; N];
    let failed = |_| CryptError("a key cannot be derived");
    let key = Salt::new(HKDF_SHA256, salt).extract(secret);
    key.expand(&[info], Length(N)).map_err(failed)?.fill(&mut output).map_err(failed)?;
    Ok(output)
}

fn derive(shared: &[u8], browser: &BrowserKeys, own: &[u8], salt: &[u8]) -> Result<MessageKey, CryptError> {
    let info = [b"WebPush: info\0", browser.public.as_slice(), own].concat();
    let secret: [u8; 32] = expand(&browser.auth, shared, &info)?;
    Ok(MessageKey {
        key: expand(salt, &secret, b"Content-Encoding: aes128gcm\0")?,
        nonce: expand(salt, &secret, b"Content-Encoding: nonce\0")?,
    })
}

fn seal(key: &MessageKey, text: &[u8]) -> Result<Vec<u8>, CryptError> {
    let failed = |_| CryptError("a message cannot be encrypted");
    let sealing = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key.key).map_err(failed)?);
    // The last record ends with a two.
    let mut bytes = [text, &[2]].concat();
    let nonce = Nonce::assume_unique_for_key(key.nonce);
    sealing.seal_in_place_append_tag(nonce, Aad::empty(), &mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Returns a message that only the browser with these keys can read, as the body of a request.
pub(crate) fn encrypt(browser: &BrowserKeys, text: &[u8]) -> Result<Vec<u8>, CryptError> {
    let failed = |_| CryptError("a message cannot be encrypted");
    let random = SystemRandom::new();
    let mut salt = [0; 16];
    random.fill(&mut salt).map_err(failed)?;
    let private = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(failed)?;
    let public = private.compute_public_key().map_err(failed)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &browser.public);
    let key = agree_ephemeral(private, &theirs, |shared| derive(shared, browser, public.as_ref(), &salt));
    let sealed = seal(&key.map_err(failed)??, text)?;
    let length = u8::try_from(public.as_ref().len()).map_err(|_| CryptError("a key is too long"))?;
    Ok([&salt[..], &RECORD.to_be_bytes(), &[length], public.as_ref(), &sealed].concat())
}

/// The key with which the server signs.
pub(crate) struct ServerKey(EcdsaKeyPair);

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKey")
    }
}

impl ServerKey {
    /// Makes a key; returns what is kept of it.
    pub(crate) fn fresh() -> Result<Vec<u8>, CryptError> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        made.map(|document| document.as_ref().to_vec()).map_err(|_| CryptError("a key cannot be made"))
    }

    pub(crate) fn from_kept(kept: &[u8]) -> Result<Self, CryptError> {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, kept, &SystemRandom::new());
        key.map(Self).map_err(|_| CryptError("the kept key cannot be read"))
    }

    /// Returns the public key as browsers and push services take it.
    pub(crate) fn public(&self) -> String {
        BASE64.encode(self.0.public_key().as_ref())
    }

    /// Returns the header that proves to the push service of `origin` who sends.
    pub(crate) fn authorization(
        &self,
        origin: &str,
        contact: &str,
        now_ms: u64,
    ) -> Result<String, CryptError> {
        let head = BASE64.encode(r#"{"typ":"JWT","alg":"ES256"}"#);
        let claims = json!({"aud": origin, "exp": now_ms / 1000 + SIGNATURE_SECONDS, "sub": contact});
        let signed = format!("{head}.{}", BASE64.encode(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| CryptError("a message cannot be signed"))?;
        Ok(format!("vapid t={signed}.{}, k={}", BASE64.encode(signature.as_ref()), self.public()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as SignedBy};

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        BASE64.decode(text).unwrap()
    }

    /// The keys of a browser, and the private half that reads one message.
    pub(crate) fn browser() -> (BrowserKeys, EphemeralPrivateKey) {
        let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = private.compute_public_key().unwrap().as_ref().to_vec();
        (BrowserKeys { public, auth: vec![7; 16] }, private)
    }

    /// Reads a message as a browser does.
    pub(crate) fn decrypt(keys: &BrowserKeys, private: EphemeralPrivateKey, body: &[u8]) -> Vec<u8> {
        let (salt, own, sealed) = (&body[..16], &body[21..86], &body[86..]);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, own);
        let key =
            agree_ephemeral(private, &theirs, |shared| derive(shared, keys, own, salt)).unwrap().unwrap();
        let opening = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key.key).unwrap());
        let mut text = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(key.nonce);
        let mut text = opening.open_in_place(nonce, Aad::empty(), &mut text).unwrap().to_vec();
        assert_eq!(text.pop(), Some(2));
        text
    }

    #[test]
    fn the_example_of_the_standard_is_encrypted_as_it_says() {
        let browser = BrowserKeys {
            public: bytes(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            ),
            auth: bytes("BTBZMqHH6r4Tts7J_aSIgg"),
        };
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let own =
            bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let key = derive(&shared, &browser, &own, &bytes("DGv6ra1nlYgDCS1FRnbzlw")).unwrap();
        assert_eq!(key.key.as_slice(), bytes("oIhVW04MRdy2XN9CiKLxTg"));
        assert_eq!(key.nonce.as_slice(), bytes("4h_95klXJ5E_qnoN"));
        let sealed = seal(&key, b"When I grow up, I want to be a watermelon").unwrap();
        let expected = "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ";
        assert_eq!(BASE64.encode(sealed), expected);
    }

    #[test]
    fn a_message_is_read_by_its_browser() {
        let (keys, private) = browser();
        let body = encrypt(&keys, b"{\"item\":4}").unwrap();
        assert_eq!(decrypt(&keys, private, &body), b"{\"item\":4}");
    }

    #[test]
    fn the_signature_is_good_for_the_service_that_it_names() {
        let key = ServerKey::from_kept(&ServerKey::fresh().unwrap()).unwrap();
        let header = key.authorization("https://push.example", "https://desk.example", 1_000_000).unwrap();
        let (token, public) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let known = SignedBy::new(&ECDSA_P256_SHA256_FIXED, bytes(public));
        known.verify(signed.as_bytes(), &bytes(signature)).unwrap();
        let claims: serde_json::Value =
            serde_json::from_slice(&bytes(signed.split_once('.').unwrap().1)).unwrap();
        assert_eq!(
            claims,
            json!({"aud": "https://push.example", "exp": 44_200, "sub": "https://desk.example"})
        );
    }
}
