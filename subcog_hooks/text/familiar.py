"""Words by which names in texts are told from other words: endings and names of files, commands, products. Tables only."""

ENDINGS = frozenset(
    """adoc asm astro avsc awk bash bat bazel bib bzl c cc cfg cjs clj cljs cmake cmd conf cpp cs css csv cu cuh cxx dart
    db diff dockerfile ejs el elm env erb erl ex exs fish fs fsx gemspec go gql gradle graphql groovy h haml hbs hcl hh
    hpp hrl hs html hxx ico ini ipynb jar java jinja jinja2 jl js json json5 jsonc jsonl jsx key kt kts less lock log
    lua m4 mako md mdx mjs mk ml mli mod mts nim nix ods parquet pem php pl plist pm png po prisma proto ps1 pug puml
    pxd py pyi pyx rake rb rego res rkt rs rst sass sbt scala scm scss service sh sln sol sql sqlite sum svelte svg
    swift tcl tex tf tfstate tfvars thrift toml tpl ts tsv tsx txt vb vbs vim vue wasm whl wsdl xlsx xml xsd xsl yaml
    yml zig zsh""".split()
)  # of file names that stand alone; behind a folder any ending is one
FILES = frozenset(
    """Brewfile Caddyfile Containerfile Dockerfile Gemfile Guardfile Jenkinsfile Justfile Pipfile Podfile Procfile Rakefile
    Snakefile Tiltfile Vagrantfile justfile""".split()
)  # names without an ending
HIDDEN = (
    "rc",
    "ignore",
    "attributes",
    "config",
    "modules",
    "profile",
    "-version",
    "_history",
)  # what names like .bashrc end in
COMMONPLACE = frozenset(
    """.env .gitignore CHANGELOG.md CLAUDE.md CMakeLists.txt CONTRIBUTING.md Cargo.lock Cargo.toml Dockerfile LICENSE.md
    LICENSE.txt Makefile README.md README.rst README.txt __init__.py __main__.py admin.py api.py app.js app.py app.ts
    apps.py build.gradle config.js config.json config.py config.ts config.yaml config.yml conftest.py constants.py
    constants.ts docker-compose.yml error.tsx forms.py globals.css go.mod go.sum helpers.py helpers.ts index.css
    index.html index.js index.jsx index.md index.ts index.tsx init.lua layout.tsx lib.rs loading.tsx main.c main.cpp
    main.go main.js main.py main.rs main.ts manage.py middleware.ts mod.rs models.py not-found.tsx package-lock.json
    package.json page.tsx pom.xml pyproject.toml requirements.txt route.ts routes.py routes.ts schema.prisma schema.sql
    schemas.py serializers.py server.js server.ts settings.json settings.py setup.cfg setup.py style.css styles.css
    tasks.py tests.py tsconfig.json types.ts urls.py utils.js utils.py utils.ts views.py yarn.lock""".split()
)  # names of files that lie in many folders: they say nothing without the folder
PRODUCTS = frozenset(
    """BitBucket CentOS ClickHouse CloudFlare CloudFront CloudWatch CockroachDB CouchDB CircleCI DataDog DevOps DevTools
    DigitalOcean DynamoDB ElasticSearch FastAPI FreeBSD GitHub GitLab GitOps GraphQL HashiCorp HttpOnly InfluxDB IntelliJ
    JavaScript JetBrains JupyterLab LangChain LaTeX LinkedIn LocalStack MariaDB McDonald MongoDB MySQL NumPy NextJS
    NestJS NodeJS OpenAI OpenAPI OpenBSD OpenGL OpenID OpenSSH OpenSSL OpenShift OpenTelemetry OAuth PayPal PhD
    PlayStation PostGIS PostgreSQL PowerPoint PowerShell ProtoBuf PyCharm PyPI PyTorch RabbitMQ ReactJS SameSite
    ScyllaDB SciPy SendGrid SharePoint SolidJS SonarQube SpringBoot StackOverflow SwiftUI TailwindCSS TensorFlow
    TimescaleDB TypeScript VSCode WebAssembly WebGL WebRTC WebSocket WebSockets WhatsApp WireGuard WordPress YouTube
    iCloud iPad iPhone
    macOS""".split()
)  # written like identifiers; the shorter ones are no identifiers anyway
BUILTINS = frozenset(
    """ArgumentError ArgumentException ArgumentNullException ArithmeticError ArithmeticException ArrayBuffer ArrayDeque
    ArrayIndexOutOfBoundsException ArrayList AssertionError AttributeError BTreeMap BTreeSet BaseException BaseModel
    BigDecimal BigInt BigInteger BrokenPipeError BufferedReader ByteBuffer CalledProcessError CancelledError
    ClassCastException ClassNotFoundException CompletableFuture ConcurrentHashMap ConnectionError ConnectionRefusedError
    ConnectionResetError DataFrame DateTime DeprecationWarning EOFError FileExistsError FileNotFoundError
    FileNotFoundException FormData FutureWarning HashMap HashSet Hashtable IOError IOException IllegalArgumentException
    IllegalStateException ImportError IndentationError IndexError IndexOutOfBoundsException InputStream
    InterruptedException InvalidOperationException IsADirectoryError JSONDecodeError KeyError KeyboardInterrupt
    LinkedHashMap LinkedList LookupError MemoryError ModuleNotFoundError NameError NamedTuple NoMethodError
    NoSuchElementException NotADirectoryError NotImplementedError NotImplementedException NullPointerException
    NullReferenceException NumberFormatException OSError ObjectId OrderedDict OutOfMemoryError OutputStream OverflowError
    PathBuf PermissionError RangeError RecursionError RefCell ReferenceError ResourceWarning RuntimeError
    RuntimeException RuntimeWarning SQLException StackOverflowError StandardError StopAsyncIteration StopIteration
    StringBuffer StringBuilder StringIO SyntaxError SystemExit TabError TextDecoder TextEncoder TimeSpan TimeoutError
    TimeoutException TreeMap TreeSet TypeError TypeVar TypedDict URIError URLSearchParams UnboundLocalError
    UnicodeDecodeError UnicodeEncodeError UnicodeError UnsupportedOperationException UserWarning ValueError VecDeque
    WeakMap WeakRef WeakSet XMLHttpRequest ZeroDivisionError bytearray classmethod dataclass defaultdict frozenset
    getattr hasattr innerHTML int32_t int64_t isinstance issubclass localStorage namedtuple parseFloat parseInt print
    println querySelector range sessionStorage setInterval setTimeout setattr size_t sizeof sorted ssize_t staticmethod
    super toString uint16_t uint32_t uint64_t uint8_t""".split()
)  # exceptions, types and functions that languages have, or every program in them: they tell no code from another
SCRIPTS = frozenset(
    "alpine angular backbone chart d3 deno discord ember express moment nest next node nuxt react three vue".split()
)
STANDARDS = frozenset(
    "AES CP DIN EN ES HS HTTP IEEE ISO KB MB PEP PORT RFC RS RSA SHA TCP UTF".split()
)  # before digits: no codes
EVERYDAY = frozenset(
    """awk bash cat cd chmod chown cp cut date diff du echo exit export false file find grep head kill less ls mkdir
    more mv open printf ps pwd read rg rm sed set sh sleep sort source tail tee test time touch tr true uniq vi vim wc
    which zsh""".split()
)  # commands whose second word is what they are used on
WRAPPERS = frozenset("builtin command doas env exec nice nohup sudo time timeout xargs".split())  # the command follows
WRAPPED = frozenset("-I -L -P -d -g -k -n -s -u".split())  # options of theirs that have a value
LEADS = frozenset("! do elif else if then until while {".split())  # words of a shell before a command
INTERPRETERS = frozenset("node perl php python python2 python3 ruby".split())  # a file follows, and says little
LAUNCHERS = frozenset(("bundle exec", "pipenv run", "poetry run", "uv run"))  # the command follows, too
OF_THREE = frozenset(  # commands that say something with their third word only
    ("bun run", "cargo run", "docker compose", "go run", "just run", "npm run", "pnpm run", "yarn run", "yarn workspace")
)
HOSTS = (".ai", ".app", ".com", ".dev", ".edu", ".gov", ".io", ".net", ".org")  # ends of hosts' names before a path
VALUED = frozenset(
    ("--context", "--namespace", "--prefix", "-C", "-f", "-n", "-p")
)  # options before a second word that have a value
KEYWORDS = frozenset(
    """and as async await break case class const continue def delete do done elif else end enum esac except extends fi fn
    for from func function if impl import in interface let match new not or package private pub public raise return
    select self static struct switch then this throw try type use using val var void where while with yield""".split()
)  # of languages: what begins with one is code, no command
SHELLS = frozenset(("", "bash", "console", "fish", "powershell", "sh", "shell", "shell-session", "terminal", "zsh"))
