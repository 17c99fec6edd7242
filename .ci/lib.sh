# What the scripts that stand for a user share. To be sourced in the root of the working tree.
#
# AMP_MAVEN_ARGS   more arguments for every call of Maven, as for ./amp

# Fills a folder with the working tree as it is: tracked files and new ones, whether committed or not, without what a build left behind.
copy_working_tree() {
    local destination=$1 file files=()
    mkdir -p "$destination"
    while IFS= read -r -d '' file; do
        [ -e "$file" ] && files+=("$file")
    done < <(git ls-files -z --cached --others --exclude-standard --deduplicate)
    cp --parents --preserve=mode -t "$destination" -- "${files[@]}"
}

# Prints the blocks of code in a section of a document, of one language, that begin with a text.
document_block() {
    local file=$1 wanted_section=$2 wanted_language=$3 beginning=$4 line section='' language='' block='' inside=false
    while IFS= read -r line; do
        if $inside && [ "$line" = '```' ]; then
            inside=false
            if [ "$section" = "$wanted_section" ] && [ "$language" = "$wanted_language" ]; then
                case $block in
                    "$beginning"*) printf '%s' "$block" ;;
                esac
            fi
        elif $inside; then
            block+=$line$'\n'
        else
            case $line in
                '## '*) section=${line#'## '} ;;
                '```'*) inside=true language=${line#'```'} block='' ;;
            esac
        fi
    done <"$file"
}

# Prints what the README tells users to add: the BOM (management) or the dependencies; or the lines for Gradle of docs/install.md (gradle).
readme_block() {
    case $1 in
        management) document_block README.md 'Add it' xml '<dependencyManagement>' ;;
        dependencies) document_block README.md 'Add it' xml '<dependency>' ;;
        gradle) document_block docs/install.md Gradle groovy '' ;;
    esac
}

# One dependency of DL4J or ND4J, which the user has already.
users_own() {
    printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>1.0.0-M2.1</version></dependency>\n' "$1" "$2"
}

# Writes a user's POM: management, then dependencies.
write_pom() {
    local folder=$1 management=$2 dependencies=$3
    mkdir -p "$folder/src/main/java"
    cat >"$folder/pom.xml" <<EOF
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId>
<artifactId>program</artifactId>
<version>1</version>
<properties>
<maven.compiler.source>17</maven.compiler.source>
<maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
</properties>
$management
<dependencies>
$dependencies
</dependencies>
</project>
EOF
}

# Writes a program of ten lines, Program.java, that trains with a listener and says on which engine.
write_ten_lines() {
    cat >"$1/Program.java" <<'EOF'
public class Program {
    public static void main(String[] args) {
        var net = new org.deeplearning4j.nn.multilayer.MultiLayerNetwork(new org.deeplearning4j.nn.conf.NeuralNetConfiguration.Builder().list()
                .layer(new org.deeplearning4j.nn.conf.layers.DenseLayer.Builder().nIn(400).nOut(600).build())
                .layer(new org.deeplearning4j.nn.conf.layers.OutputLayer.Builder().nOut(3).build()).build());
        net.init();
        net.setListeners(new org.dl4jamp.listeners.AmpListener());
        var data = org.nd4j.linalg.factory.Nd4j.rand(16, 400);
        net.fit(new org.nd4j.linalg.dataset.DataSet(data, org.nd4j.linalg.factory.Nd4j.ones(16, 3).div(3)));
        net.fit(new org.nd4j.linalg.dataset.DataSet(data, org.nd4j.linalg.factory.Nd4j.ones(16, 3).div(3)));
        System.out.println("Trained on " + org.dl4jamp.MixedPrecision.of(net).orElseThrow().engine());
    }
}
EOF
}

# Runs Maven outside of the build, on the repository given first.
users_maven() {
    local repository=$1
    shift
    # Unquoted on purpose: several arguments.
    # shellcheck disable=SC2086
    mvn -B -q -Dmaven.repo.local="$repository" ${AMP_MAVEN_ARGS:-} "$@"
}

# Writes the class path of a user's program into classpath.txt beside its POM.
users_class_path() {
    local repository=$1 folder=$2
    shift 2
    users_maven "$repository" -f "$folder/pom.xml" "$@" \
        org.apache.maven.plugins:maven-dependency-plugin:3.9.0:build-classpath -Dmdep.outputFile="$folder/classpath.txt" >&2
}

# Runs a class of a user's program that was compiled, with what it writes on both streams shown and kept in output.txt.
users_program() {
    local folder=$1 main=$2
    shift 2
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" -XX:+IgnoreUnrecognizedVMOptions --enable-native-access=ALL-UNNAMED \
        --sun-misc-unsafe-memory-access=allow -cp "$folder/target/classes:$(cat "$folder/classpath.txt")" "$main" "$@" 2>&1 |
        tee "$folder/output.txt"
}

# Fails if a program's output has JavaCPP's line about versions, or lacks a text.
check_output() {
    local file=$1 text output
    shift
    output=$(cat "$file")
    case $output in
        *'do not match'*)
            echo "JavaCPP warns of versions that do not match" >&2
            return 1
            ;;
    esac
    for text in "$@"; do
        case $output in
            *"$text"*) ;;
            *)
                echo "the output lacks: $text" >&2
                return 1
                ;;
        esac
    done
}
