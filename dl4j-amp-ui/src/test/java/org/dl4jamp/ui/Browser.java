package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import org.openqa.selenium.By;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.openqa.selenium.support.ui.Select;
import org.openqa.selenium.support.ui.WebDriverWait;

/** A headless Chromium of this machine, to which only this machine exists. */
final class Browser implements AutoCloseable {
    static final int LAPTOP = 1366;
    static final int PHONE = 390;

    private static final int HEIGHT = 844;

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    /** Starts it; where there is none the test is skipped. */
    static Browser open() {
        File chromium = new File(System.getProperty("amp.chromium", "/usr/bin/chromium"));
        File service = new File(System.getProperty("amp.chromedriver", "/usr/bin/chromedriver"));
        assumeTrue(chromium.canExecute() && service.canExecute(), "no " + chromium + " or no " + service);
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        ChromeOptions options = new ChromeOptions();
        options.setBinary(chromium);
        options.setCapability(ChromeOptions.LOGGING_PREFS, logs);
        options.addArguments(
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--window-size=" + LAPTOP + ",900",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost");
        // With the service given Selenium doesn't look for one on the internet.
        return new Browser(new ChromeDriver(
                new ChromeDriverService.Builder().usingDriverExecutable(service).build(), options));
    }

    void go(String url) {
        driver.get(url);
    }

    String url() {
        return driver.getCurrentUrl();
    }

    /** Returns the value of a script; in one call, since the page replaces its elements while it's looked at. */
    private Object script(String script, Object... arguments) {
        return driver.executeScript(script, arguments);
    }

    /** Returns the number of elements. */
    int count(String selector) {
        return ((Long) script("return document.querySelectorAll(arguments[0]).length", selector)).intValue();
    }

    boolean isShown(String selector) {
        return (Boolean) script("return document.querySelector(arguments[0]).checkVisibility()", selector);
    }

    /** Returns an attribute of the first such element; the empty text if there is none. */
    String attribute(String selector, String name) {
        return String.valueOf(script(
                "const found = document.querySelector(arguments[0]);"
                        + " return found ? found.getAttribute(arguments[1]) : '';",
                selector,
                name));
    }

    void click(String selector) {
        script("document.querySelector(arguments[0]).click()", selector);
    }

    void choose(String list, String value) {
        new Select(driver.findElement(By.cssSelector(list))).selectByValue(value);
    }

    void follow(String link) {
        driver.findElement(By.linkText(link)).click();
    }

    String text(String selector) {
        return String.valueOf(script(
                "const found = document.querySelector(arguments[0]); return found ? found.innerText : '';", selector));
    }

    /** Returns the number that a text begins with; -1 if it's another text. */
    double number(String selector) {
        String digits = text(selector).replaceAll("[,\\s].*", "").replaceAll("[^0-9.]", "");
        return digits.isEmpty() ? -1 : Double.parseDouble(digits);
    }

    /** Waits until something is so, a minute at most. */
    void until(BooleanSupplier condition) {
        until(condition, 60);
    }

    void until(BooleanSupplier condition, int seconds) {
        new WebDriverWait(driver, Duration.ofSeconds(seconds), Duration.ofMillis(50))
                .until(ignored -> condition.getAsBoolean());
    }

    /** Returns whether the charts have been drawn since the width of the page has changed. */
    boolean isDrawnAtItsWidth() {
        return (Boolean) script("const box = document.querySelector('#lossChart');"
                + " const drawn = box.querySelector('svg');"
                + " return drawn !== null && drawn.viewBox.baseVal.width === box.clientWidth;");
    }

    /** Shows the page at a width, a phone's with its two pixels for each. */
    void resize(int width, int height) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of(
                        "width",
                        width,
                        "height",
                        height,
                        "deviceScaleFactor",
                        width == PHONE ? 2 : 1,
                        "mobile",
                        width == PHONE));
    }

    void resize(int width) {
        resize(width, HEIGHT);
    }

    /** Returns how many pixels of the page are beyond the right edge of the window. */
    long pixelsBeyondTheEdge() {
        return (Long) script("const page = document.documentElement; return page.scrollWidth - page.clientWidth");
    }

    long contentHeight() {
        return (Long) script("return document.documentElement.scrollHeight");
    }

    /** Returns the addresses of all that the page has loaded. */
    List<String> loaded() {
        return ((List<?>) script("return performance.getEntriesByType('resource').map(entry => entry.name)"))
                .stream().map(String::valueOf).toList();
    }

    /** Returns the errors and warnings of the console since the last call. */
    List<String> complaints() {
        return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
                .map(LogEntry::getMessage)
                .toList();
    }

    void screenshot(Path file) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(file, driver.getScreenshotAs(OutputType.BYTES));
    }

    @Override
    public void close() {
        driver.quit();
    }
}
