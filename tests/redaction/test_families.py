"""Secrets by family: vendors' tokens, configuration, people's texts. Put together, as in `test_redact`."""

import base64

import pytest

from subcog_hooks.redaction import redact as module
from subcog_hooks.redaction.disclosure import disclosable_text
from subcog_hooks.redaction.redact import has_known_secret, redact

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 6
HEX = "9f86d081884c7d659a2feaa0c55ad015" * 4
WORD = "kR7pWq2LxZ9vT4n"

CASES = "mIlBcuf" + "VUSCeTWwG"
BASE32 = "k5xw2ztq7hd3vb4ynp6jg2sfme7ru4ac" * 2

VENDORS = {
    "Pinecone": "pc" + "sk_" + MIXED[:69],
    "crates.io": "ci" + "o" + MIXED[:32],
    "New Relic": "NR" + "AK-" + "7KQ2ZT9W4XM3BV8N5RJ6C1PDHFG",
    "Square": "sq0" + "atp-" + MIXED[:22],
    "Bitbucket": "AT" + "BB" + MIXED[:32],
    "Fly": "Fly" + "V1 fm2_" + MIXED[:90],
    "Airtable": "pa" + "t" + MIXED[:14] + "." + HEX[:64],
    "Dropbox": "s" + "l." + MIXED[:120],
    "Tencent": "AK" + "ID" + MIXED[:32],
    "Alibaba": "LT" + "AI" + MIXED[:20],
    "Vault batch token": "hv" + "b." + MIXED[:100],
    "DigitalOcean": "dop" + "_v1_" + HEX[:64],
    "Doppler": "d" + "p.pt." + MIXED[:43],
    "Grafana": "gl" + "sa_" + MIXED[:32] + "_" + HEX[:8],
    "Sentry": "snt" + "ryu_" + HEX[:64],
    "Tailscale": "ts" + "key-auth-" + MIXED[:30],
    "Replicate": "r" + "8_" + MIXED[:37],
    "Resend": "r" + "e_" + MIXED[:8] + "_" + MIXED[9:33],
    "RubyGems": "ruby" + "gems_" + HEX[:48],
    "Buildkite": "bk" + "ua_" + HEX[:40],
    "CircleCI": "CCI" + "PAT_" + MIXED[:22] + "_" + HEX[:40],
    "Mailgun": "ke" + "y-" + HEX[:32],
    "Figma": "fi" + "gd_" + MIXED[:40],
    "Shopify": "sh" + "pat_" + HEX[:32],
    "Terraform Cloud": MIXED[:14] + ".atlas" + "v1." + MIXED[:64],
    "Databricks": "da" + "pi" + HEX[:32],
    "PlanetScale": "pscale" + "_tkn_" + MIXED[:40],
    "Algolia": "ALGOLIA_ADMIN = '" + HEX[:32] + "'",
}
LINES = {
    "a variable": ("STRIPE_KEY={}", HEX[:32]),
    "a client secret of Azure": ("AZURE_CLIENT_SECRET={}", "Ab1" + "8Q~" + MIXED[:34]),
    "a signed URL": ("https://acme.blob.core.windows.net/c?sv=2022-11-02&sig={}", MIXED[:40] + "%3D"),
    "a parameter": ("https://acme.io/api?access_token={}&page=2", MIXED[:24]),
    "a webhook": ("https://discord.com/api/webhooks/1234567890123456789/{}", MIXED[:68]),
    "a token as a user": ("git clone https://{}@git.acme.io/a/b.git", MIXED[:30]),
    "a password with signs in a URL": ("https://deploy:{}@git.acme.io/x.git", "p@ss/w0rd#eD2"),
    "scp with a password": ("git remote add o bob:{}@git.acme.io:x/y.git", "hunter2secret"),
    "a DSN": ("SENTRY_DSN=https://{}@o1.ingest.sentry.io/1", HEX[:32]),
    ".pgpass": ("db:5432:app:app:{}", WORD),
    ".netrc": ("machine git.acme.io login bob password {}", "letmeinplease"),
    "/etc/shadow": ("root:{}:19000:0:99999:7:::", "$6$" + "RZqT9XdO$" + MIXED[:60]),
    "docker's configuration": ('{{"auths": {{"r.acme.io": {{"auth": "{}"}}}}}}', base64.b64encode(b"bob:hunter22").decode()),
    "an option": ("deploy --password={} now", "hunter2secret"),
    "a login for curl": ("curl -u bob:{} https://acme.io", "hunter2secret"),
    "mysql": ("mysql -u root -p{} shop", "hunter2secret"),
    "sshpass": ("sshpass -p {} ssh bob@acme.io", "hunter2secret"),
    "redis-cli": ("redis-cli -h cache -a {} PING", "hunter2secret"),
    "openssl": ("openssl rsa -in k.pem -passin pass:{}", "hunter2secret"),
    "a body without its header": ("rest of it:\n{}\nend", f"{MIXED[:64]}\n{MIXED[5:69]}\n{MIXED[9:40]}"),
    "YAML": ("db:\n  password: {}\n", WORD),
    **{
        f"a password behind {sign}": ('password: "{}"', sign + WORD) for sign in ("-", "!", ":", "@", "$", "%", "*", "/", "my_")
    },
    "a variable behind -": ("DB_PASSWORD={}", f"-{WORD}"),
    "a variable behind $": ("DB_PASSWORD='{}'", f"${CASES}"),
    "letters behind @": ('password: "{}"', f"@{CASES}"),
    "a token of Azure DevOps": ("AZURE_DEVOPS_EXT_PAT={}", BASE32[:52]),
    "a seed in a variable": ("MFA_SEED={}", BASE32[:32].upper()),
    "JSON": ('{{"apiKey": "{}"}}', MIXED[:32]),
}
SENTENCES = {
    "letters of both cases": ("the staging password is {}.", CASES),
    "an app password": ("gmail app password: {}", "htfu ysul slis tndy"),
    "an app password of a thing": ("the app password for the mailer is {}", "htfu ysul slis tndy"),
    "a second factor": ("TOTP secret {}", BASE32[:32].upper()),
    "a seed": ("the 2FA seed is {}", BASE32[:16].upper()),
    "a key in groups": ("2FA key: {}", "k5xw 2ztq hd3v b4yn"),
    "a call": ('conn.setPassword("{}")', WORD),
    "Japanese": ("パスワードは {} です", WORD),
    "Chinese": ("数据库密码：{}", WORD),
    "Korean": ("비밀번호는 {}", WORD),
    "Russian": ("пароль: {}", WORD),
    "French": ("le mot de passe est {}", WORD),
    "a pair": ("bob:{} (admin)", WORD),
    "no sign at all": ("token {}", WORD),
    "a new line": ("password\n{}", WORD),
    "a PIN": ("PIN: {}", "471102"),
    "words": ("the staging password is {}", "Summer-River-Castle"),
    "a passphrase": ('passphrase: "{}"', "tiger lamp orbit velvet"),
    "a wallet": ("seed phrase: {}", "abandon ability able about above absent absorb abstract absurd abuse access accident"),
    "behind": ("use {} as the token", WORD),
    "in base64": ("echo {} | base64 -d", base64.b64encode(("gh" + "p_" + MIXED[:36]).encode()).decode()),
    "with what has no width": ("it is {}", "gh" + "p_" + MIXED[:9] + "\u200b" + MIXED[9:36]),
    "behind a blank of Braille": ("it is\u2800{}", "gh" + "p_" + MIXED[:36]),
    "nothing but chance": ("we log in with {} there", MIXED[:28]),
}
FAMILIES = [(f"Use {token} here.", token) for token in VENDORS.values()]
FAMILIES += [(text.format(secret), secret) for text, secret in (*LINES.values(), *SENTENCES.values())]

PLAIN = [
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 fixed the token refresh",
    "the token is a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "integrity sha512-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3==",
    "see https://docs.acme.io/d/1VL0shYfKl7goy5Zj4Rghpixbye4M8zs for the key decisions",
    "docker run -u 1000:1000 nginx:1.25@sha256:" + HEX[:64],
    "sk-learn-contrib-package and re_compile_all_the_patterns in prod_database_of_2024_users",
    "AES-256 with ChaCha20-Poly1305 needs a key of 32 bytes",
    "secret_key_base comes from the vault, npm_config_cache_directory_v2 from the shell",
    "readBigUInt64BE and fetchUserById2 take a password",
    "InitOptions::new(EmbeddingModel::AllMiniLML6V2)",
    "clave de la base: la tabla users",
    "app password: must have four words only",
    "the app password that your mail uses expires",
    "MFA over port 4443 with user root, TOTP for AUTHENTICATION_REQUIRED, 2FA of the CONTINUOUSINTEGRATION account",
    "GITHUB_PAT=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "partition key: user_2024_events_v12",
]


def test_what_vendors_issue_is_not_kept(subtests: pytest.Subtests) -> None:
    for name, token in VENDORS.items():
        with subtests.test(name=name):
            assert token.rpartition("'")[0].rpartition("'")[2] or token not in redact(f"Use {token} here.").text
            assert MIXED[2:14] not in redact(f"Use {token} here.").text
            assert HEX[:16] not in redact(f"Use {token} here.").text


def test_secrets_in_lines_and_sentences_are_not_kept_or_shown(subtests: pytest.Subtests) -> None:
    for text, secret in FAMILIES:
        with subtests.test(text=text):
            once, seen = redact(text).text, disclosable_text(text)
            assert secret not in once or text.startswith("Use ")  # A vendor's token has its own test.
            assert redact(once) == (once, ())
            assert seen is None or (secret not in seen and redact(seen).removed == ())


def test_hashes_names_and_versions_stay() -> None:
    assert [(text, actual) for text in PLAIN if (actual := redact(text).removed) != ()] == []


STAND_INS = [
    *("$DB_PASSWORD", "$dbPassword", "${DB_PASSWORD}", "$MYSQL_ROOT_PASSWORD_V2", "%DB_PASSWORD%", "$(pass show db)", "$1"),
    *("!vault", "!Ref", "!isLiveBlog", ":password", ":encrypted_password2", "@Value", "@JsonProperty", "@PasswordEncoder"),
    *("<your-password>", "my-password", "my_password_2024", "your_api_key", "the-password", "some.password", "my.dbPassword"),
    *("--password-file", "-Dspring", "-1", "***", "*password*", "#d8dee9", "/run/secrets/db", "/dbPassword", "~/.pgpass"),
    *("vault:secret/db", "env:DB_PASSWORD", "changeme", "optional"),
]


def test_a_placeholder_or_a_reference_stays() -> None:
    forms = ('password: "{}"', "password: {}", "DB_PASSWORD={}", "the password is {}", 'api_token = "{}"')
    texts = [form.format(value) for form in forms for value in STAND_INS]
    texts += [
        f"password: {name}" for name in ("PasswordEncoder", "SecretKeySpec", "userPwdInput", "HTTPBasicAuth", "mPasswordView")
    ]
    assert [(text, actual) for text in texts if (actual := redact(text).removed) != ()] == []


def test_each_catalogue_pattern_compiles_and_needs_its_literals() -> None:
    rows = module._catalogue_rows()
    assert len(rows) > 350
    for row in rows:
        assert module._compile(row.pattern)
        assert row.literals
        assert min(map(len, row.literals)) >= 3


@pytest.mark.parametrize("identifier", ["01JD8ZK4TQ7XWLM2NPVRBCEHSG", "V1StGXR8_Z5jdHi6B-myT", "md120fe10103e", "adr-7"])
def test_an_id_that_is_drawn_by_lot_is_no_secret(identifier: str) -> None:
    assert not has_known_secret(identifier)


PRIVATE = [
    *("keep < private >{}</ private > this", "keep <PRIVATE reason='pay'>{}</Private> this"),
    *("keep ＜private＞{}＜/private＞ this", "keep ＜ｐｒｉｖａｔｅ＞{}＜／ｐｒｉｖａｔｅ＞ this"),
    *("keep &lt;private&gt;{}&lt;/private&gt; this", "keep &amp;lt;private&amp;gt;{}&amp;lt;/private&amp;gt; this"),
    *("keep &#60;private&#62;{}&#x3c;/private&#x3E; this", r"keep \u003cprivate\u003e{}\u003c/private\u003e this"),
    *(r"keep \\u003cprivate\\u003e{}\\u003c\/private\\u003e this", "keep %3Cprivate%3E{}%3C/private%3E this"),
    *("keep <pri\u200bvate>{}</private\u2060> this", "keep <\u200bprivate>{}<\ufeff/private> this"),
    *("keep ‹private›{}‹/private› this", "keep <private\n>{}</private\n> this", "keep ＜private＞{}"),
    "keep &lt;private&gt;{}",
]


def test_a_private_span_is_not_kept_however_its_tags_are_written(subtests: pytest.Subtests) -> None:
    for text in PRIVATE:
        with subtests.test(text=text):
            kind = redact(text.format("the salary of Eve"))
            assert "salary" not in kind.text
            assert kind.text.startswith("keep ")
            assert kind.text == "keep this" or not text.endswith("this")
            assert kind.removed == (("private block", 1),)


def test_what_only_resembles_such_a_tag_stays() -> None:
    texts = ["a &lt;privateKey&gt; b", "a < private", r"a \u003cprivate-notes\u003e b", "％private％ of it"]
    texts += ["the <privateKey> element", "<private-notes>kept</private-notes>", "private: kept"]
    assert [(text, actual) for text in texts if (actual := redact(text).text) != text] == []


@pytest.mark.parametrize(
    "text", ["<private " * 50_000, "&lt;private 62 " * 50_000, "\\u003c" * 50_000 + "private", "<" + " " * 300_000 + "private"]
)
def test_tags_that_are_never_closed_are_worked_through(text: str) -> None:
    assert redact(text[:200_000]).removed == ()
