import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Executors;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Kafka Streams counting per key, its store behind the JDK's HTTP server, as its documentation tells one to do it.
 *
 * <p>Prints its port when all keys are there. Each line of standard input, a number of seconds, has it look up random
 * keys in process for that long and print a line of JSON; it ends when standard input does.
 */
public final class ViewsPeer {
    private static final int MOST_LOOKUPS = 50_000_000;

    public static void main(final String[] args) throws Exception {
        final Map<String, String> arguments = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            arguments.put(args[i], args[i + 1]);
        }
        final int keys = Integer.parseInt(arguments.get("--keys"));
        final Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments.get("--application-id"));
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments.get("--bootstrap"));
        properties.put(StreamsConfig.STATE_DIR_CONFIG, arguments.get("--state-dir"));
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put("auto.offset.reset", "earliest");
        final StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments.get("--input"), Consumed.with(Serdes.String(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"));
        try (KafkaStreams streams = new KafkaStreams(builder.build(), properties)) {
            streams.start();
            final ReadOnlyKeyValueStore<String, Long> store = store(streams);
            for (int i = 0; i < keys; i++) {
                while (store.get("key-" + i) == null) {
                    Thread.sleep(20);
                }
            }
            // Without it every answer waits for a delayed acknowledgement of its headers, 40 ms.
            System.setProperty("sun.net.httpserver.nodelay", "true");
            final HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 128);
            server.setExecutor(Executors.newFixedThreadPool(4));
            server.createContext("/stores/counts/keys/", exchange -> answer(exchange, store));
            server.start();
            System.out.println(server.getAddress().getPort());
            final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                System.out.println(lookUp(store, keys, Double.parseDouble(line)));
            }
            server.stop(0);
        }
        System.exit(0); // the server's threads live on
    }

    private static ReadOnlyKeyValueStore<String, Long> store(final KafkaStreams streams) throws InterruptedException {
        while (streams.state() != KafkaStreams.State.RUNNING) {
            Thread.sleep(20);
        }
        return streams.store(StoreQueryParameters.fromNameAndType("counts", QueryableStoreTypes.keyValueStore()));
    }

    private static void answer(final HttpExchange exchange, final ReadOnlyKeyValueStore<String, Long> store)
            throws IOException {
        final String path = exchange.getRequestURI().getRawPath();
        final String key = URLDecoder.decode(path.substring(path.lastIndexOf('/') + 1), StandardCharsets.UTF_8);
        final Long value = store.get(key);
        final byte[] body = ("{\"key\":\"" + key + "\",\"value\":" + value + "}").getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(value == null ? 404 : 200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static String lookUp(final ReadOnlyKeyValueStore<String, Long> store, final int keys, final double seconds) {
        final Random random = new Random(7);
        final String[] asked = random.ints(4096, 0, keys).mapToObj(i -> "key-" + i).toArray(String[]::new);
        final int[] nanos = new int[MOST_LOOKUPS];
        int count = 0;
        final long start = System.nanoTime();
        final long end = start + (long) (seconds * 1e9);
        long before = start;
        while (before < end && count < MOST_LOOKUPS) {
            if (store.get(asked[count & 4095]) == null) {
                throw new IllegalStateException("a key is missing");
            }
            final long now = System.nanoTime();
            nanos[count++] = (int) (now - before);
            before = now;
        }
        final int[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        return String.format(
            "{\"rate\": %.0f, \"p50_us\": %.2f, \"p99_us\": %.2f}",
            count / ((before - start) / 1e9), sorted[count / 2] / 1e3, sorted[count * 99 / 100] / 1e3);
    }
}
