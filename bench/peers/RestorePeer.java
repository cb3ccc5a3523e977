import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * Restores the stores of an application that Millstream ran, from its changelogs, and prints what is in them as JSON,
 * a line for each row. The topology is that of tests/spark/test_changelogs.py.
 *
 * <p>Arguments: bootstrap servers, application id, input topic, state directory, keys to look at.
 */
public final class RestorePeer {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(final String[] args) throws Exception {
        final Properties config = new Properties();
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, args[3]);
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        final StreamsBuilder builder = new StreamsBuilder();
        final KStream<String, String> words = builder.stream(args[2], Consumed.with(Serdes.String(), Serdes.String()));
        final KGroupedStream<String, String> grouped = words.groupByKey(Grouped.with(Serdes.String(), Serdes.String()));
        grouped.count(Materialized.as("counts"));
        grouped.windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ofDays(1)))
            .count(Materialized.as("minutes"));
        grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(5), Duration.ofDays(1)))
            .count(Materialized.as("visits"));
        builder.addStateStore(
            Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("last"), Serdes.String(), Serdes.String()));
        words.process(Last::new, "last");
        try (KafkaStreams streams = new KafkaStreams(builder.build(), config)) {
            final CountDownLatch running = new CountDownLatch(1);
            streams.setStateListener((now, before) -> {
                if (now == KafkaStreams.State.RUNNING || now == KafkaStreams.State.ERROR) {
                    running.countDown();
                }
            });
            streams.start();
            if (!running.await(120, TimeUnit.SECONDS) || streams.state() != KafkaStreams.State.RUNNING) {
                throw new IllegalStateException("Kafka Streams is " + streams.state());
            }
            print(streams, args);
        }
    }

    private static void print(final KafkaStreams streams, final String[] args) throws Exception {
        try (KeyValueIterator<String, ValueAndTimestamp<Long>> rows = streams.store(StoreQueryParameters
                .fromNameAndType("counts", QueryableStoreTypes.<String, Long>timestampedKeyValueStore())).all()) {
            while (rows.hasNext()) {
                final KeyValue<String, ValueAndTimestamp<Long>> row = rows.next();
                say("counts", row.key, row.value.timestamp(), 0, String.valueOf(row.value.value()));
            }
        }
        try (KeyValueIterator<String, String> rows = streams.store(StoreQueryParameters
                .fromNameAndType("last", QueryableStoreTypes.<String, String>keyValueStore())).all()) {
            while (rows.hasNext()) {
                final KeyValue<String, String> row = rows.next();
                say("last", row.key, 0, 0, row.value);
            }
        }
        try (KeyValueIterator<Windowed<String>, ValueAndTimestamp<Long>> rows = streams.store(StoreQueryParameters
                .fromNameAndType("minutes", QueryableStoreTypes.<String, Long>timestampedWindowStore()))
                .fetchAll(Instant.EPOCH, Instant.ofEpochMilli(Long.MAX_VALUE))) {
            while (rows.hasNext()) {
                final KeyValue<Windowed<String>, ValueAndTimestamp<Long>> row = rows.next();
                say("minutes", row.key.key(), row.key.window().start(), row.value.timestamp(),
                    String.valueOf(row.value.value()));
            }
        }
        for (int i = 4; i < args.length; i++) {
            try (KeyValueIterator<Windowed<String>, Long> rows = streams.store(StoreQueryParameters
                    .fromNameAndType("visits", QueryableStoreTypes.<String, Long>sessionStore())).fetch(args[i])) {
                while (rows.hasNext()) {
                    final KeyValue<Windowed<String>, Long> row = rows.next();
                    say("visits", row.key.key(), row.key.window().start(), row.key.window().end(),
                        String.valueOf(row.value));
                }
            }
        }
    }

    private static void say(
            final String store, final String key, final long from, final long to, final String value) throws Exception {
        final ObjectNode row = JSON.createObjectNode();
        row.put("store", store).put("key", key).put("from", from).put("to", to).put("value", value);
        System.out.println(JSON.writeValueAsString(row));
    }

    /** Keeps the last value of each key. */
    private static final class Last extends ContextualProcessor<String, String, Void, Void> {
        @Override
        public void process(final Record<String, String> word) {
            final KeyValueStore<String, String> last = context().getStateStore("last");
            last.put(word.key(), word.value());
        }
    }

    private RestorePeer() {
    }
}
