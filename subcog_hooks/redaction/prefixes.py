"""Prefixes of vendors' tokens, and nouns of secrets: data for the pass on the way in, that on the way out, and disclosure.

Facts from the vendors' own documentation and from the lists of GitHub's secret scanning, Betterleaks, and detect-secrets. The
lengths are the least that is asked for, below what the vendors issue today: they change those without notice.
"""

# Behind each prefix, at least so many letters, digits, "_" and "-".
OPAQUE = {
    16: """
    AKIA ASIA ABIA ACCA LTAI AKID AKLT AKTP SCW EXO
    """,
    20: """
    ABSK ATBB ATCTT3 ATATT3 ATOA ATTA BBDC- BSA- CCIPAT_ CCIPRJ_ CCDB1_ CFPAT- CLOJARS_ EAAA EAAC EAAM ECTT3 EZAK EZTK
    FLWSECK- FLWSECK_TEST- GOCSPX- GR1348941 HRKU- LTAK NRAK- NRAL- NRBR- NRII- NRIQ- NRJS- NRRA- NRSP- PMAK- PMAT- WPL_AP
    AIK_CI_ AIK_SECRET_ ALTAK AQVN SWMKEY-1- SWMTKN-1- AGE-SECRET-KEY-1 APA91b AAAAAAAAAAAAAAAAAAAA
    api_org_ apify_api_ apk_ bb_live_ bkaa_ bkaj_ bkar_ bkct_ bkpat_ bkps_ bkpt_ bkua_ brv- cfat_ cfk_ cfut_ chpt_ cio cmVmd
    cnvca cog_ cpik_ crsr_ csa_ csk- dapi dbtc_ dbtu_ dckr_oat_ dckr_pat_ ddo_ ddp_ ddw_ dnkey- doo_v1_ dop_v1_ dor_v1_
    duffel_live_ duffel_test_ dvc_server_ e2b_ esecret_ essu_ fc- figd_ figo_ figoh_ fio-u- flp_ fw_ ghb_ gho_ ghp_ ghr_ ghs_
    ghu_ github_pat_ glagent- glcbt- gldt- glffct- glft- glimt- gloas- glpat- glptt- glrt- glrtr- glsoat- glc_ glsa_ gsk_ gsvc_
    hcaik_ hcalk_ hcxik_ hcxlk_ hf_ hvb. hvr. hvs. ico- intg_ ion_ jca_ jina_ key- lin_api_ lin_oauth_ lip_ llx- ls__ lsv2_pt_
    lsv2_sk_ mdb_sa_sk_ mfa. mint_ mlsn. napi_ nfb_ nfc_ nfo_ nfp_ nfu_ npm_ nsec1 ntn_ nvapi- nyk_ ops_ opk_ os_v2_app_
    os_v2_org_ oy2 packagist_ack_ packagist_acs_ packagist_ort_ packagist_out_ pat- pcsk_ pdl_live_ pdl_sdbx_ phc_ phx_
    pina_ pnb_ pnu_ polar_at_ polar_oat_ polar_pat_ pplx- prv_live_ pscale_oauth_ pscale_pw_ pscale_tkn_ ptkn_ pul- pypi-
    r8_ ramp_sec_ rdme_ re_ rk_live_ rk_prod_ rk_test_ rnd_ rootly_ rpa_ rubygems_ rzp_live_ rzp_test_ samsara_api_ sb_secret_
    sbp_ secret_ sentrys_ sgd_ sgp_ shippo_live_ shippo_test_ shpat_ shpca_ shppa_ shpss_ shptka_ shpua_ shprt_ signkey- sk-
    sk_live_ sk_prod_ sk_test_ sktsec_ sl. slk_ sntrys_ sntryu_ sq0atp- sq0csp- sq0idp- sqa_ sqp_ squ_ svcacct- svix_ sys_live_
    tfp_ tfe_ tgp_v1_ thrd_ tk-eu- tk-us- tr_dev_ tr_pat_ tr_prod_ trm_ tskey- tss_ tvly- ucat_ unkey_ v1.0- vca_ vci_
    vck_ vcp_ vcr_ vercel_blob_rw_ vtwn_ waka_ wandb_v1_ whsec_ wrka- xai- xapp- xau_ xkeysib- xnd_development_
    xnd_production_ xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xoxb- xoxe.xoxp- xoxo- xoxp- xoxr- xoxs- xsmtpsib- y0_ zpka_
    """,
    30: "AIza",
}
# These go on with characters that elsewhere end a token: ".", "/", "+", "=", "~", "%", "$", ":".
WIDE = {
    16: """
    1// AQ.Ab8 AstraCS: EwB FlyV1 SG. access_token$production$ access_token$sandbox$ dG9r dp.ct. dp.pt. dp.sa. dp.scim. dp.st.
    dt0c01. dt0s01. dt0s02. dt0s03. eyJrIjoi fm1_ fm1a_ fm2_ fo1_ live_api. pat. sat. sha256~ st. t1. ya29. v2.local. v2.public.
    v3.local. v4.local. hawk. doppler. rw_ prod_ api_live. api_live_ca. api_live_us.
    """,
}
# Enough to know a token by, whatever comes behind: what no word or name begins with. The rest is judged, too.
UNMISTAKABLE = frozenset(
    """
    AKIA ASIA AIza github_pat_ ghp_ gho_ ghu_ ghs_ ghr_ glpat- gldt- glrt- glptt- sk_live_ rk_live_ sk_test_ rk_test_ hvs. hvb.
    dckr_pat_ dckr_oat_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xoxb- xoxe.xoxp-
    xoxo- xoxp- xoxr- xoxs- npm_ pypi- hf_ whsec_ nvapi- pcsk_ tskey- PMAK- GOCSPX- sntrys_ sntryu_ lin_api_ sq0atp-
    sq0csp- NRAK-
    """.split()
)

# Words of three to eight letters that sentences are full of, and none of a wallet's list.
OF_SENTENCES = frozenset(
    """
    the and for with are was not has but its from does which should would could their been than them our your
    der die das und ist den dem ein eine nicht mit von auf les des une est pas que qui dans pour sur los las una con por para
    del não com dos uma het een niet voor che non per sono della
    """.split()
)
WHOLE_WORD = 4  # letters of a word that others may hold
# Words beside which people write a secret, by the kind of secret: `everyday` looks where one stands, and nowhere else.
# A blank stands for any joint.
BESIDE = {
    kind: words.split("|")
    for kind, words in {
        "password": (
            "password|passwd|passphrase|pass phrase|passcode|pwd|psk|pw|wifi key|wi fi key|wpa key|passwort|"
            "kennwort|wlan schlüssel|netzwerkschlüssel|wachtwoord|wachtzin"
        ),
        "mot de passe": (
            "mot de passe|mdp|phrase secrète|phrase de passe|clé wifi|clé wi fi|contraseña|contrasena|clave|"
            "senha|palavra passe|frase passe|parola d'ordine|parola chiave"
        ),
        "secret": "secret|token|api key|access key|signing key|encryption key|master key",
        "key": (
            "license key|licence key|product key|activation key|recovery key|bitlocker|lizenzschlüssel|"
            "api schlüssel|geheimer schlüssel|clé api|clé d'accès|clé de licence|clé secrète|chave de api|"
            "chave da api|chave secreta|chiave api|chiave segreta|chiave di licenza|api sleutel|licentiesleutel"
        ),
        "pin": "pin|puk|otp",
        "code": (
            "pin code|pincode|pin number|pin nummer|access code|entry code|door code|alarm code|gate code|"
            "garage code|lock code|unlock code|keypad code|lockbox code|security code|pairing code|"
            "verification code|one time code|safe combination|lock combination|geheimzahl|zugangscode|türcode|"
            "alarmcode|sicherheitscode|zutrittscode|entsperrcode|tresorcode|code d'accès|code secret|"
            "code confidentiel|code d'entrée|code de la porte|code de l'alarme|code du portail|digicode|"
            "código de acceso|código de la puerta|código de la alarma|código secreto|código de acesso|"
            "código da porta|código do alarme|codice di accesso|codice d'accesso|codice segreto|"
            "codice della porta|codice dell'allarme|toegangscode|deurcode|beveiligingscode|kluiscode"
        ),
        "code of": (
            "code for the|code to the|code of the|code for my|code to my|code for our|code to our|"
            "combination for the|combination of the|combination to the|combination to my|combination of my|"
            "code für|code zum|code zur|code der|code des|code pour|code du|código de la|código del|código da|"
            "código do|codice del|codice della|code van de|code van het|code voor|kombination des|"
            "kombination vom|combinaison du|combinaison de|combinación de|combinação d|combinazione de|"
            "combinatie van"
        ),
        "opens": (
            "opens with|unlocks with|open with|unlock with|öffnet sich mit|s'ouvre avec|se abre con|abre com|"
            "si apre con|opent met"
        ),
        "backup code": (
            "recovery code|backup code|emergency code|scratch code|wiederherstellungscode|code de secours|"
            "codes de secours|code de récupération|codes de récupération|códigos de recuperación|"
            "códigos de respaldo|códigos de recuperação|codici di recupero|codici di backup|herstelcode"
        ),
        "login": (
            "basic auth|credentials|creds|login|log in|sign in|username/password|user/pass|user / password|"
            "zugangsdaten|anmeldedaten|einloggen|anmelden|identifiants|credenciales|credenciais|credenziali|"
            "inloggegevens|inloggen|datos de acceso|dati di accesso|dados de acesso|login/password|"
            "login/passwort|login/pass|user/pw|benutzer/passwort|usuario/contraseña"
        ),
        "card": "card|karte|carte|tarjeta|cartão|carta|kaart|visa|amex|mastercard|maestro|cvc|cvc2|cvv|cvv2|csc",
        "seed": (
            "seed|mnemonic|recovery phrase|backup phrase|secret phrase|secret words|twelve words|12 words|"
            "24 words|wallet|bip39|bip 39|wiederherstellungsphrase|wiederherstellungswörter|"
            "phrase de récupération|frase de recuperación|frase semilla|palabras semilla|frase de recuperação|"
            "frase di recupero|herstelzin"
        ),
        "name": "pass|password|passwd|passphrase|pwd|secret|token|api key|apikey",
        "call": (
            "getconnection(|credential(|credentials(|login(|basicauth(|basic auth(|authenticate(|auth(|auth=(|"
            "auth = (|new mysqli(|new pdo(|sql connect(|sqli connect(|sql pconnect("
        ),
        "header": "token|secret|password|api key|access key|auth key|x session|cookie",
        "form": (
            "identified by|identified with|requirepass|masterauth|otpauth|social security|ssn|/private |{sha|"
            "{ssha|{md5|{smd5|{crypt"
        ),
        "device": "username|enable secret|enable password|neighbor|snmp server|radius server|tacacs server|isakmp",
        "tool": (
            "mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb dump|sshpass|docker login|podman login|"
            "registry login|az login|oc login|psexec|mongo|redis cli|keydb cli|valkey cli|ldapsearch|ldapmodify|"
            "ldapadd|ldapdelete|ldapwhoami|ldappasswd|sqlcmd|bcp|zip|unzip|ipmitool|mosquitto pub|mosquitto sub|"
            "7z|7za|7zz|rar|unrar|htpasswd|openssl|ssh keygen|smbclient|rpcclient|mount.cifs|net use|net user|"
            "cmdkey|xfreerdp|lftp|keytool|jarsigner|apksigner|chpasswd|sudo|cryptsetup|password stdin|"
            "passphrase fd|passwd"
        ),
    }.items()
}


def opaque() -> list[tuple[str, int]]:
    """Return each prefix of `OPAQUE` with the least length of what follows it."""
    return [(prefix, least) for least, prefixes in OPAQUE.items() for prefix in prefixes.split()]


def wide() -> list[tuple[str, int]]:
    """Return each prefix of `WIDE` with the least length of what follows it."""
    return [(prefix, least) for least, prefixes in WIDE.items() for prefix in prefixes.split()]
