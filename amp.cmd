@echo off
rem Runs dl4j-amp's command line, and builds it first if it isn't built or its sources have changed. Needs a JDK (17 or newer) and Maven.
rem
rem 'amp bench' is the benchmark, built with the Maven profile benchmarks, 'amp spark' trains on a Spark cluster, built with the profile spark; everything
rem else is in dl4j-amp-examples.
rem
rem AMP_PROFILE      the backend: empty for ND4J's CPU backend, cuda or cuda-ptx
rem AMP_MAVEN_ARGS   more arguments for the build, such as "-Dnd4j.cuda.version=12.9 -Ddl4j.version=1.0.0-SNAPSHOT"
rem AMP_JAVA_OPTS    options for the JVM, such as "-Xmx8g"
rem AMP_CLASS_PATH   more jars and folders of classes, such as those of your own layers in a saved model
setlocal
set "ROOT=%~dp0"
set "ROOT=%ROOT:~0,-1%"
set "AMP_ARGS=%AMP_MAVEN_ARGS%"
set "MODULES=dl4j-amp-examples"
set "TARGET=%ROOT%\dl4j-amp-examples\target"
set "MAIN=org.dl4jamp.examples.AmpCommand"
set "PATHFILES=%TARGET%\classpath.txt"
set "SPARKPATH="
if "%~1"=="bench" goto bench
if "%~1"=="spark" goto spark
if defined AMP_PROFILE (
    set "TARGET=%TARGET%\%AMP_PROFILE%"
    set "PATHFILES=%TARGET%\%AMP_PROFILE%\classpath.txt"
    set "AMP_ARGS=-P%AMP_PROFILE% %AMP_MAVEN_ARGS%"
)
goto check

:bench
if defined AMP_PROFILE (
    echo amp: bench measures CPUs: unset AMP_PROFILE 1>&2
    exit /b 2
)
set "AMP_ARGS=-Pbenchmarks %AMP_MAVEN_ARGS%"
set "MODULES=dl4j-amp-benchmarks,dl4j-amp-benchmarks-pytorch,dl4j-amp-benchmarks-onnxruntime"
set "TARGET=%ROOT%\dl4j-amp-benchmarks\target"
set "PYTORCH=%ROOT%\dl4j-amp-benchmarks-pytorch\target"
set "ONNXRUNTIME=%ROOT%\dl4j-amp-benchmarks-onnxruntime\target"
set "MAIN=-Damp.bench.pytorch="%PYTORCH%" -Damp.bench.onnxruntime="%ONNXRUNTIME%" -Damp.bench.helpers="%TARGET%\helpers" org.dl4jamp.benchmarks.AmpBench"
set "PATHFILES=%TARGET%\classpath.txt;%PYTORCH%\classpath.txt;%ONNXRUNTIME%\classpath.txt"
goto check

:spark
if defined AMP_PROFILE (
    echo amp: spark starts a cluster of CPUs: unset AMP_PROFILE 1>&2
    exit /b 2
)
set "AMP_ARGS=-Pspark %AMP_MAVEN_ARGS%"
set "MODULES=dl4j-amp-examples-spark"
set "TARGET=%ROOT%\dl4j-amp-examples-spark\target"
set "SPARKPATH=%TARGET%\spark-classpath.txt"
set "PATHFILES=%TARGET%\classpath.txt;%SPARKPATH%"
rem What Spark opens for itself when its own scripts start it.
set "MAIN="
for %%p in (java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar) do call set "MAIN=%%MAIN%% --add-opens=java.base/%%p=ALL-UNNAMED"
set "MAIN=%MAIN% org.dl4jamp.examples.spark.AmpSpark"

:check
set "BUILT=%TARGET%\amp-built"

set "AMP_CHECK=$b = Get-Item -ErrorAction SilentlyContinue $env:BUILT; if (-not $b) { exit 1 }"
set "AMP_CHECK=%AMP_CHECK%; if ((Get-Content -Raw $env:BUILT).TrimEnd() -ne ('' + $env:AMP_ARGS) + '.') { exit 1 }"
set "AMP_CHECK=%AMP_CHECK%; foreach ($p in $env:PATHFILES.Split(';')) { if (-not (Test-Path $p)) { exit 1 }; foreach ($e in (Get-Content -Raw $p).Trim().Split(';')) { if (-not (Test-Path $e)) { exit 1 } } }"
set "AMP_CHECK=%AMP_CHECK%; $s = Get-ChildItem -Recurse -File (Join-Path $env:ROOT 'dl4j-amp-*\src\main'); $s += Get-Item (Join-Path $env:ROOT 'pom.xml'), (Join-Path $env:ROOT 'dl4j-amp-*\pom.xml')"
set "AMP_CHECK=%AMP_CHECK%; foreach ($f in $s) { if ($f.LastWriteTime -gt $b.LastWriteTime) { exit 1 } }; exit 0"
powershell -NoProfile -Command "%AMP_CHECK%" >nul 2>&1
if not errorlevel 1 goto run

where mvn >nul 2>&1
if errorlevel 1 (
    echo amp: Maven is needed for the build: there is no mvn on the PATH 1>&2
    exit /b 1
)
echo Building dl4j-amp; the first time this downloads its dependencies 1>&2
set "LOG=%TEMP%\amp-build-%RANDOM%.log"
call mvn -B -f "%ROOT%\pom.xml" -pl %MODULES% -am process-classes %AMP_ARGS% >"%LOG%" 2>&1 <nul
if errorlevel 1 (
    type "%LOG%" 1>&2
    del "%LOG%"
    echo amp: the build failed; Maven's output is above 1>&2
    exit /b 1
)
del "%LOG%"
rem The dot keeps the file from being empty.
>"%BUILT%" echo %AMP_ARGS%.

:run
rem OpenMP threads that wait actively hold up one another many times over when other programs use the processor too; threads
rem that go to sleep at once are slow to wake for the many small operations of a recurrent layer.
if not defined OMP_WAIT_POLICY set "OMP_WAIT_POLICY=PASSIVE"
if not defined GOMP_SPINCOUNT set "GOMP_SPINCOUNT=10000"
set "JAVA=java"
if defined JAVA_HOME set "JAVA=%JAVA_HOME%\bin\java"
if defined SPARKPATH goto sparkpath
rem In the environment, because a command line would be too short for it.
for /f "usebackq delims=" %%c in ("%TARGET%\classpath.txt") do set "CLASSPATH=%TARGET%\classes;%%c"
if defined AMP_CLASS_PATH set "CLASSPATH=%CLASSPATH%;%AMP_CLASS_PATH%"
goto java

:sparkpath
rem In a file of arguments, because a variable would be too short for it, too.
set "ARGFILE=%TARGET%\class-path.arguments"
set "AMP_WRITE=$c = ($env:TARGET + '\classes'), (Get-Content -Raw (Join-Path $env:TARGET 'classpath.txt')).Trim(), (Get-Content -Raw $env:SPARKPATH).Trim() -join ';'"
set "AMP_WRITE=%AMP_WRITE%; $q = [string][char]34; Set-Content -Encoding Default -Path $env:ARGFILE -Value ('-cp ' + $q + $c.Replace('\', '/') + $q)"
powershell -NoProfile -Command "%AMP_WRITE%"
if errorlevel 1 exit /b 1
set "MAIN=@"%ARGFILE%" %MAIN%"

:java
"%JAVA%" -XX:+IgnoreUnrecognizedVMOptions --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow ^
    -Djava.awt.headless=true -Dorg.bytedeco.javacpp.logger=slf4j -Damp.terminal=true %AMP_JAVA_OPTS% %MAIN% %*
exit /b %ERRORLEVEL%
