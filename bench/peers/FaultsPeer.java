import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * The application of the fault runs on Kafka Streams: tests/faults/harness/application.py, line by line.
 *
 * <p>Its argument is the settings as JSON. It says on standard output which state it is in, and runs until SIGTERM.
 */
public final class FaultsPeer {
    private static final Duration ALWAYS = Duration.ofDays(1);
    /** How often a record is one at which a function raises, while there are tokens. */
    private static final double CHANCE = 0.02;

    private static Path tokens;

    public static void main(final String[] args) throws Exception {
        final JsonNode settings = new ObjectMapper().readTree(args[0]);
        tokens = Path.of(settings.get("tokens").asText());
        final Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, settings.get("application").asText());
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.get("bootstrap").asText());
        config.put(StreamsConfig.STATE_DIR_CONFIG, settings.get("state").asText());
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, settings.get("caching").asBoolean() ? 10_000_000 : 0);
        if (settings.get("stores").asText().equals("memory")) {
            config.put(
                StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
                "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers");
        }
        final KafkaStreams streams = new KafkaStreams(topology(settings.get("prefix").asText()), config);
        final CountDownLatch failed = new CountDownLatch(1);
        final boolean replace = settings.get("replace").asBoolean();
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return replace
                ? StreamThreadExceptionResponse.REPLACE_THREAD
                : StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            System.out.println("state " + now);
            if (now == KafkaStreams.State.ERROR) {
                failed.countDown();
            }
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(60)), "close"));
        streams.start();
        failed.await();
        System.exit(1); // its supervisor starts it again
    }

    private static Topology topology(final String prefix) {
        final StreamsBuilder builder = new StreamsBuilder();
        final Serde<String> text = Serdes.String();
        final Consumed<String, String> texts = Consumed.with(text, text);
        final Produced<String, Long> numbers = Produced.with(text, Serdes.Long());
        final KStream<String, String> visits = builder.stream(prefix + "visits", texts).mapValues(FaultsPeer::check);
        final KStream<String, String> clicks = builder.stream(prefix + "clicks", texts).mapValues(FaultsPeer::check);
        final KStream<String, String> buys = builder.stream(prefix + "buys", texts);
        visits.groupByKey(Grouped.with(text, text))
            .count(Materialized.as("visits"))
            .toStream()
            .mapValues(FaultsPeer::check)
            .to(prefix + "visit-counts", numbers);
        final KGroupedStream<String, String> byUser = clicks.groupByKey(Grouped.with(text, text));
        byUser.count(Materialized.as("by-user")).toStream().to(prefix + "counts", numbers);
        byUser.windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), ALWAYS))
            .count(Materialized.as("by-minute"))
            .toStream()
            .selectKey((window, count) -> window.key() + "@" + window.window().start())
            .to(prefix + "minutes", numbers);
        clicks.selectKey((user, number) -> number)
            .join(
                buys.selectKey((user, number) -> number),
                (click, buy) -> click + "+" + buy,
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofHours(1), ALWAYS),
                StreamJoined.with(text, text, text).withName("match").withStoreName("match"))
            .mapValues(FaultsPeer::check)
            .to(prefix + "pairs", Produced.with(text, text));
        return builder.build();
    }

    /** Passes a value on, and raises at random records while there are tokens. */
    private static <V> V check(final V value) {
        try {
            final List<Path> found;
            try (Stream<Path> files = Files.list(tokens)) {
                found = files.collect(Collectors.toList());
            }
            final ThreadLocalRandom chance = ThreadLocalRandom.current();
            if (!found.isEmpty() && chance.nextDouble() < CHANCE) {
                final Path token = found.get(chance.nextInt(found.size()));
                try {
                    Files.move(token, Path.of(tokens + "-spent", token.getFileName().toString()));
                } catch (final NoSuchFileException taken) {
                    return value; // somebody else took it
                }
                throw new IllegalStateException("this function is flaky (" + token.getFileName() + ")");
            }
        } catch (final IOException error) {
            throw new IllegalStateException(error);
        }
        return value;
    }

    private FaultsPeer() {}
}
